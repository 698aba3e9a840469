// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "capabilities.h"

#include <lathe/base/files.h>
#include <lathe/base/text.h>
#include <lathe/base/version.h>

#include <algorithm>
#include <charconv>
#include <sched.h>
#include <set>
#include <system_error>
#include <unistd.h>

namespace lathe::worker {
namespace {

namespace fs = std::filesystem;
using Row = protocol::WorkerHello::Capability;

Row row(std::string name,
        bool ok,
        std::string found,
        std::string fix,
        const char* otherwise = "missing")
{
    return {std::move(name),
            ok ? "ok" : otherwise,
            std::move(found),
            ok ? std::string() : std::move(fix)};
}

std::string processorText()
{
    std::string model = "unknown processor";
    for (const std::string& line : splitLines(readFile("/proc/cpuinfo").value_or(""))) {
        if (line.starts_with("model name")) {
            model = std::string(trimmed(std::string_view(line).substr(line.find(':') + 1)));
            break;
        }
    }
    const auto cores = physicalCores().size();
    return "CPU: " + model + ", " + std::to_string(cores) + (cores == 1 ? " core" : " cores");
}

/// The version in the name of a package's metadata folder ("torch-2.11.0+cu130.dist-info").
std::string packageVersion(const fs::path& packages, const std::string& name)
{
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(packages, error)) {
        const std::string folder = entry.path().filename().string();
        constexpr std::string_view kEnding = ".dist-info";
        if (folder.starts_with(name + "-") && folder.ends_with(kEnding)) {
            return folder.substr(name.size() + 1, folder.size() - name.size() - 1 - kEnding.size());
        }
    }
    return {};
}

std::string torchVersion(const fs::path& packages);

void addSandbox(std::vector<Row>& rows, const SandboxReport& report)
{
    const bool bare = report.rung == "unsandboxed";
    rows.push_back(row("sandbox",
                       report.usable && !bare,
                       report.text,
                       bare ? "install bubblewrap (apt install bubblewrap)" : report.text,
                       bare ? "degraded" : "missing"));
    for (const auto& proof : report.proofs) {
        rows.push_back(row("sandbox: " + proof.name,
                           proof.held,
                           proof.held || proof.detail.empty() ? "proven" : proof.detail,
                           "this machine's sandbox does not hold here",
                           "degraded"));
    }
}

/// Which of the headers that kernels include are in none of the folders.
std::vector<std::string> missingHeaders(const std::vector<fs::path>& folders)
{
    std::vector<std::string> missing;
    for (const char* header : {"lathe/kernel.h", "tvm/ffi/c_api.h"}) {
        const bool found = std::any_of(folders.begin(), folders.end(), [&](const fs::path& folder) {
            std::error_code ignored;
            return fs::exists(folder / header, ignored);
        });
        if (!found) {
            missing.emplace_back(header);
        }
    }
    return missing;
}

void addToolchain(std::vector<Row>& rows, const WorkerOptions& options, const Builder& builder)
{
    const std::string toolchain = builder.toolchain();
    const std::string cxx = toolchain.substr(0, toolchain.find(';'));
    rows.push_back(row("C++ compiler", cxx.starts_with("g++"), cxx, "apt install g++"));
    const auto semicolon = toolchain.find("; ");
    rows.push_back(
        row("nvcc",
            !options.nvcc.empty(),
            semicolon == std::string::npos ? "not found" : toolchain.substr(semicolon + 2),
            "needed for CUDA kernels only: install the CUDA toolkit or set CUDACXX"));
    const auto missing = missingHeaders(options.includes);
    rows.push_back(row(
        "kernel headers",
        missing.empty(),
        missing.empty() ? options.includes.front().string() : join(missing, " and ") + " not found",
        "lathe/kernel.h is looked for in LATHE_INCLUDE, tvm/ffi/c_api.h in the Python "
        "environment's package apache-tvm-ffi"));
}

void addPython(std::vector<Row>& rows, const WorkerOptions& options, protocol::TargetInfo& target)
{
    const bool python = !options.python.empty() && ::access(options.python.c_str(), X_OK) == 0;
    rows.push_back(row("Python",
                       python,
                       options.python.empty() ? "none given" : options.python.string(),
                       "name the environment's interpreter with --python or LATHE_PYTHON"));
    const fs::path packages = sitePackages(options.python);
    target.torch = torchVersion(packages);
    rows.push_back(row("torch",
                       !target.torch.empty(),
                       target.torch.empty() ? "not found" : target.torch,
                       "install torch in the environment of --python"));
    rows.push_back(row("arm",
                       ::access(options.arm.c_str(), X_OK) == 0,
                       options.arm.string(),
                       "build lathe-arm, or name it with --arm or LATHE_ARM"));
}

/// torch/version.py names the build too ("2.11.0+cu130"), which the metadata may leave out.
std::string torchVersion(const fs::path& packages)
{
    for (const std::string& line :
         splitLines(readFile(packages / "torch/version.py", 1u << 16).value_or(""))) {
        const auto first = line.find('\'');
        if (line.starts_with("__version__") && first != std::string::npos) {
            return line.substr(first + 1, line.find('\'', first + 1) - first - 1);
        }
    }
    return packageVersion(packages, "torch");
}

} // namespace

std::vector<int> physicalCores()
{
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    std::vector<int> cores;
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        return {0};
    }
    std::set<std::string> seen;
    for (int core = 0; core < CPU_SETSIZE; ++core) {
        if (!CPU_ISSET(static_cast<std::size_t>(core), &allowed)) {
            continue;
        }
        const std::string file =
            "/sys/devices/system/cpu/cpu" + std::to_string(core) + "/topology/thread_siblings_list";
        const std::string siblings = readFile(file).value_or("only " + std::to_string(core));
        if (seen.insert(siblings).second) {
            cores.push_back(core);
        }
    }
    return cores;
}

protocol::WorkerHello describeWorker(const WorkerOptions& options,
                                     const Sandbox& sandbox,
                                     const Builder& builder,
                                     const CudaProbe& cuda)
{
    protocol::WorkerHello hello;
    hello.software = std::string("lathe-worker ") + version();
    hello.pid = ::getpid();
    hello.target.name = "local";
    hello.target.device = processorText();
    hello.target.driver = cuda.driver;
    hello.target.toolchain = builder.toolchain();
    hello.target.sandbox = sandbox.report().rung;
    hello.devices = {"cpu"};
    for (std::size_t i = 0; i < cuda.devices.size(); ++i) {
        hello.devices.push_back("cuda:" + std::to_string(i));
    }
    addSandbox(hello.capabilities, sandbox.report());
    addToolchain(hello.capabilities, options, builder);
    addPython(hello.capabilities, options, hello.target);
    std::string gpus = join(cuda.devices, ", ");
    hello.capabilities.push_back(
        row("CUDA device",
            !cuda.devices.empty(),
            cuda.devices.empty() ? cuda.problem : gpus + " (" + cuda.driver + ")",
            "needed for CUDA tasks only: install the NVIDIA driver"));
    return hello;
}

std::string doctorText(const protocol::WorkerHello& hello)
{
    std::string text = hello.software + " on " + hello.target.device + "\n";
    for (const Row& entry : hello.capabilities) {
        text += entry.status + std::string(10 - std::min<std::size_t>(9, entry.status.size()), ' ')
                + entry.name + ": " + entry.found + "\n";
        if (!entry.fix.empty()) {
            text += "          -> " + entry.fix + "\n";
        }
    }
    return text;
}

} // namespace lathe::worker
