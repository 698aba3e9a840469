// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "commands.h"
#include "doctor_checks.h"
#include "host.h"
#include "terminal.h"

#include <lathe/base/files.h>
#include <lathe/base/json.h>
#include <lathe/base/version.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

namespace lathe::cli {

namespace {

bool mentions(const std::vector<Check>& rows, std::string_view word)
{
    return std::any_of(rows.begin(), rows.end(), [&](const Check& row) {
        return row.name.find(word) != std::string::npos;
    });
}

/// What the worker found out about itself: sandbox proofs, compilers, arms, devices.
std::vector<Check> workerRows(Host& host)
{
    const session::WorkerStatus status = host.awaitWorker(90);
    std::vector<Check> rows;
    const bool up = status.hello.has_value();
    rows.push_back({"worker",
                    up ? "ok" : "missing",
                    up                    ? status.hello->software + ", " + status.text
                    : status.text.empty() ? "no answer within 90 s"
                                          : status.text,
                    up ? "" : "build lathe-worker, or name it with LATHE_WORKER",
                    true});
    if (!up)
        return rows;
    for (const auto& capability : status.hello->capabilities) {
        // A machine without a GPU is whole all the same.
        const bool optional = capability.name == "nvcc" || capability.name.starts_with("CUDA")
                              || capability.name.starts_with("CUPTI");
        rows.push_back(
            {capability.name, capability.status, capability.found, capability.fix, !optional});
    }
    return rows;
}

std::vector<Check> endpointRows(Host& host)
{
    using Rows = std::vector<session::Session::ProviderRow>;
    auto providers = await<Rows>(host.loop, [&](session::Callback<Rows> done) {
        host.session().providers(std::move(done));
    });
    if (!providers)
        return {{"model endpoints", "degraded", providers.error().message, {}}};
    std::vector<Check> rows;
    bool any = false;
    for (const auto& provider : *providers) {
        any = any || !provider.name.starts_with("replay:");
        rows.push_back(
            {provider.name.starts_with("replay:") ? "recording" : "endpoint " + provider.name,
             provider.usable ? "ok" : "degraded",
             provider.title,
             provider.usable ? "" : provider.why});
    }
    if (!any)
        rows.push_back({"model endpoints",
                        "degraded",
                        "none is set up: recordings can be replayed, nothing more",
                        "write a profile to " + (configFolder() / "endpoints.json").string()});
    return rows;
}

/// Programs the worker has not spoken of, asked from here.
std::vector<Check> programRows(const std::vector<Check>& known, const DoctorOptions& options)
{
    std::vector<Check> rows;
    if (!mentions(known, "c++") && !mentions(known, "g++") && !mentions(known, "compiler"))
        rows.push_back(
            checkProgram("c++ compiler", {"g++", "--version"}, "apt-get install g++", true));
    if (!mentions(known, "nvcc"))
        rows.push_back(checkProgram(
            "nvcc",
            {"nvcc", "--version"},
            "only for CUDA candidates: install the CUDA toolkit and put nvcc into PATH",
            false));
    if (!mentions(known, "bubblewrap"))
        rows.push_back(checkProgram(
            "bubblewrap", {"bwrap", "--version"}, "apt-get install bubblewrap", false));
    if (!mentions(known, "torch")) {
        const char* named = std::getenv("LATHE_PYTHON"); // NOLINT(concurrency-mt-unsafe)
        for (Check& row : checkPython(!options.python.empty() ? options.python
                                      : named != nullptr      ? named
                                                              : ""))
            rows.push_back(std::move(row));
    }
    return rows;
}

/// A folder for the time of the check.
class SpareFolder
{
public:
    SpareFolder()
        : m_path(makeTempFolder(std::filesystem::temp_directory_path(), "lathe-doctor-")
                     .value_or(std::filesystem::path()))
    {}
    ~SpareFolder()
    {
        std::error_code ignored;
        std::filesystem::remove_all(m_path, ignored);
    }
    SpareFolder(const SpareFolder&) = delete;
    SpareFolder& operator=(const SpareFolder&) = delete;
    [[nodiscard]] const std::filesystem::path& path() const { return m_path; }

private:
    std::filesystem::path m_path;
};

int report(const std::vector<Check>& rows, bool json)
{
    const bool usable = std::none_of(rows.begin(), rows.end(), [](const Check& row) {
        return row.required && row.status == "missing";
    });
    if (json) {
        nlohmann::ordered_json document = {{"schema", "lathe.doctor/1"},
                                           {"version", version()},
                                           {"usable", usable},
                                           {"rows", nlohmann::ordered_json::array()}};
        for (const Check& row : rows)
            document["rows"].push_back({{"name", row.name},
                                        {"status", row.status},
                                        {"found", row.found},
                                        {"fix", row.fix},
                                        {"required", row.required}});
        Terminal::line(dumpJson(document, 2));
        return usable ? kCorrect : kMachine;
    }
    const Terminal terminal;
    Terminal::line(std::string("lathe ") + version());
    std::size_t width = 0;
    for (const Check& row : rows)
        width = std::max(width, row.name.size());
    for (const Check& row : rows) {
        const bool good = row.status == "ok";
        const Tone tone = good ? Tone::Good : row.status == "degraded" ? Tone::Warn : Tone::Bad;
        Terminal::line(fmt::format("  {} {:<{}}  {}",
                                   terminal.styled(good                       ? "✓ ok      "
                                                   : row.status == "degraded" ? "! degraded"
                                                                              : "✗ missing ",
                                                   tone),
                                   row.name,
                                   width,
                                   row.found));
        if (!good && !row.fix.empty())
            Terminal::line(fmt::format(
                "  {:<{}}  {}", "", width + 11, terminal.styled("fix: " + row.fix, Tone::Muted)));
    }
    Terminal::line(
        usable
            ? "Candidates can be evaluated on this machine."
            : terminal.styled(
                "Candidates cannot be evaluated here until what is missing is mended.", Tone::Bad));
    return usable ? kCorrect : kMachine;
}

} // namespace

int runDoctor(const DoctorOptions& options)
{
    std::vector<Check> rows;
    Loop loop;
    const SpareFolder spare;
    auto host = Host::open(loop, options);
    if (!host && deviceOf(options)) {
        // The workspace alone is at fault: what the worker can do is asked in another one.
        rows.push_back({"workspace",
                        "missing",
                        host.error().message,
                        "name another folder with --workspace or LATHE_WORKSPACE, or mend this one",
                        true});
        CommonOptions other = options;
        other.workspace = spare.path().string();
        host = Host::open(loop, other);
    }
    const bool workspaceTold = !rows.empty();
    std::vector<Check> endpoints;
    if (host) {
        for (Check& row : workerRows(**host))
            rows.push_back(std::move(row));
        endpoints = endpointRows(**host);
    } else {
        rows.push_back({"session", "missing", host.error().message, host.error().detail, true});
    }
    if (loop.interrupted())
        return kInterrupted;
    for (Check& row : programRows(rows, options))
        rows.push_back(std::move(row));
    rows.push_back(checkTasks());
    if (!workspaceTold)
        rows.push_back(checkWritable("workspace", workspaceOf(options)));
    rows.push_back(checkWritable("cache", cacheFolder()));
    rows.push_back(checkSpace(cacheFolder()));
    rows.push_back(checkWorkbench());
    rows.push_back(checkDisplay());
    rows.push_back(checkFonts());
    for (Check& row : endpoints)
        rows.push_back(std::move(row));
    return report(rows, options.json);
}

} // namespace lathe::cli
