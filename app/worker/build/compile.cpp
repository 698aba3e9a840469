// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "compile.h"

#include <lathe/base/clock.h>
#include <lathe/base/text.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <optional>
#include <thread>

namespace lathe::worker {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMaxLogBytes = 1u << 20;

bool isCuda(const std::string& file)
{
    return file.ends_with(".cu");
}

std::vector<std::string> cxxFlags(const CompileJob& job)
{
    std::vector<std::string> flags = {"-O3",
                                      "-march=native",
                                      "-fopenmp",
                                      job.standard.empty() ? "-std=c++20" : job.standard,
                                      "-fPIC",
                                      "-g1",
                                      "-fno-diagnostics-color",
                                      "-fdiagnostics-show-location=once"};
    if (job.cuda) {
        const fs::path toolkit = job.settings->nvcc.parent_path().parent_path();
        flags.push_back("-I" + (toolkit / "include").string());
    }
    return flags;
}

std::vector<std::string> nvccFlags(const CompileJob& job)
{
    const std::string& arch = job.settings->cudaArch;
    return {"-O3",
            "-lineinfo",
            "-std=c++17",
            "-gencode",
            "arch=compute_" + arch + ",code=sm_" + arch,
            "-Xcompiler",
            "-fPIC,-fopenmp,-fno-diagnostics-color",
            "-Xptxas",
            "-v"};
}

class Compilation
{
public:
    Compilation(const Sandbox& sandbox, const CompileJob& job, int cancelFd)
        : m_sandbox(sandbox)
        , m_job(job)
        , m_cancelFd(cancelFd)
        , m_endNs(monotonicNs() + static_cast<std::int64_t>(job.settings->timeoutSeconds * 1e9))
    {}

    Result<CompileResult> run()
    {
        const auto& files = m_job.files;
        if (files.size() == 1) { // one call does it all
            auto command = driver(isCuda(files[0]));
            command.insert(command.end(), {"-shared", files[0]});
            addLinkFlags(command, isCuda(files[0]));
            return judge({runOne(std::move(command))});
        }
        auto compiled = judge(compileAll());
        if (!compiled || !compiled->ok) {
            return compiled;
        }
        const bool device = std::any_of(files.begin(), files.end(), isCuda);
        auto command = driver(device);
        command.emplace_back("-shared");
        for (std::size_t i = 0; i < files.size(); ++i) {
            command.push_back(object(i));
        }
        addLinkFlags(command, device);
        auto linked = judge({runOne(std::move(command))});
        if (linked) {
            linked->log = compiled->log + linked->log;
        }
        return linked;
    }

private:
    using Outcome = Result<process::CaptureResult>;

    static std::string object(std::size_t index)
    {
        return "/build/out/" + std::to_string(index) + ".o";
    }

    std::vector<std::string> driver(bool device) const
    {
        std::vector<std::string> command = {
            (device ? m_job.settings->nvcc : m_job.settings->cxx).string()};
        const auto flags = device ? nvccFlags(m_job) : cxxFlags(m_job);
        command.insert(command.end(), flags.begin(), flags.end());
        for (std::size_t i = 0; i < m_job.settings->includeFolders.size(); ++i) {
            command.push_back("-I/build/include" + std::to_string(i));
        }
        command.insert(command.end(), m_job.include.begin(), m_job.include.end());
        command.insert(command.end(), m_job.flags.begin(), m_job.flags.end());
        return command;
    }

    void addLinkFlags(std::vector<std::string>& command, bool device) const
    {
        if (!m_job.library.empty()) {
            // Python's own symbols come from the process that loads it.
            command.insert(command.end(), m_job.link.begin(), m_job.link.end());
            command.insert(command.end(), {"-o", "/build/out/" + m_job.library});
            return;
        }
        // A symbol nobody defines fails here, by name, and not when the candidate is loaded.
        if (device) {
            command.insert(command.end(), {"-Xlinker", "-z,defs", "-lgomp"});
        } else {
            command.emplace_back("-Wl,-z,defs");
        }
        command.insert(command.end(), {"-o", "/build/out/kernels.so"});
    }

    Outcome runOne(std::vector<std::string> command) const
    {
        SandboxOptions options;
        options.purpose = "compiler";
        options.command = std::move(command);
        options.workingFolder = "/build/src";
        options.mounts = {{m_job.sources, "/build/src", false}, {m_job.output, "/build/out", true}};
        for (std::size_t i = 0; i < m_job.settings->includeFolders.size(); ++i) {
            options.mounts.push_back(
                {m_job.settings->includeFolders[i], "/build/include" + std::to_string(i), false});
        }
        for (const fs::path& folder : m_job.mounts) {
            options.mounts.push_back({folder, folder.string(), false});
        }
        const double left = static_cast<double>(m_endNs - monotonicNs()) * 1e-9;
        return m_sandbox.run(options, std::max(left, 0.0), m_cancelFd, kMaxLogBytes);
    }

    /// As many at once as there are cores. Each thread lives until its compiler has ended, which
    /// dies with it.
    std::vector<Outcome> compileAll() const
    {
        const auto& files = m_job.files;
        std::vector<std::optional<Outcome>> outcomes(files.size());
        std::atomic<std::size_t> next = 0;
        const auto work = [&] {
            for (std::size_t i = next++; i < files.size(); i = next++) {
                auto command = driver(isCuda(files[i]));
                command.insert(command.end(), {"-c", files[i], "-o", object(i)});
                outcomes[i] = runOne(std::move(command));
            }
        };
        const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < std::min(cores, files.size()); ++i) {
            threads.emplace_back(work);
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
        std::vector<Outcome> results;
        for (auto& outcome : outcomes) {
            results.push_back(std::move(*outcome));
        }
        return results;
    }

    Result<CompileResult> judge(const std::vector<Outcome>& outcomes) const
    {
        CompileResult result;
        result.ok = true;
        for (const Outcome& outcome : outcomes) {
            if (!outcome) {
                return tl::unexpected(outcome.error());
            }
            if (outcome->cancelled) {
                return fail(ErrorCode::Cancelled, "The build was cancelled");
            }
            result.log += toValidUtf8(outcome->err) + toValidUtf8(outcome->out);
            result.ok = result.ok && outcome->exitCode == 0;
            if (outcome->timedOut) {
                result.reason = "the compiler did not finish within "
                                + std::to_string(static_cast<int>(m_job.settings->timeoutSeconds))
                                + " s";
            } else if (outcome->exitCode == 128 + SIGKILL) {
                result.reason = "the compiler was killed: it went over the sandbox's memory "
                                "limit, or somebody else ended it";
            }
        }
        return result;
    }

    const Sandbox& m_sandbox;
    const CompileJob& m_job;
    int m_cancelFd;
    std::int64_t m_endNs;
};

} // namespace

Result<CompileResult> compile(const Sandbox& sandbox, const CompileJob& job, int cancelFd)
{
    return Compilation(sandbox, job, cancelFd).run();
}

} // namespace lathe::worker
