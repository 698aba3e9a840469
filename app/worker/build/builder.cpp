// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "build_cache.h"
#include "compile.h"
#include "diagnostics.h"
#include "elf_exports.h"
#include "open_files.h"
#include "torch_build.h"

#include <lathe/base/clock.h>
#include <lathe/base/files.h>
#include <lathe/base/sha256.h>
#include <lathe/base/text.h>
#include <lathe/worker/builder.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace lathe::worker {
namespace {

namespace fs = std::filesystem;
using protocol::CandidateSpec;

constexpr std::string_view kSymbolPrefix = "__tvm_ffi_";
constexpr std::uint64_t kMaxLibraryBytes = 512u << 20;
constexpr std::size_t kMaxLogBytes = 256u << 10;
/// Part of every key: raise it when what a build makes changes.
constexpr std::string_view kRecipe = "lathe-build-2";

void addField(Sha256& hash, std::string_view text)
{
    hash.update(std::to_string(text.size()) + ":");
    hash.update(text);
}

std::string hashHeaders(const std::vector<fs::path>& folders)
{
    Sha256 hash;
    for (const fs::path& folder : folders) {
        std::vector<fs::path> files;
        std::error_code error;
        for (const auto& entry : fs::recursive_directory_iterator(folder, error)) {
            if (entry.is_regular_file(error)) {
                files.push_back(entry.path());
            }
        }
        std::sort(files.begin(), files.end());
        for (const fs::path& file : files) {
            addField(hash, file.lexically_relative(folder).string());
            addField(hash, readFile(file).value_or(""));
        }
    }
    return hash.finishHex();
}

/// -march=native compiles for what this names.
std::string processor()
{
    std::string model;
    for (const std::string& line : splitLines(readFile("/proc/cpuinfo").value_or(""))) {
        if (line.starts_with("model name") || line.starts_with("flags")
            || line.starts_with("Features")) {
            model += line + "\n";
        }
        if (line.empty()) {
            break; // the other cores are alike
        }
    }
    return model;
}

std::string versionOf(const fs::path& program, const std::string& flag, std::string_view after)
{
    process::SpawnOptions options;
    options.command = {program.string(), flag};
    const auto result = process::runCaptured(options, 20, 1u << 16);
    if (!result || result->exitCode != 0) {
        return {};
    }
    const auto at = result->out.find(after);
    const auto start = at == std::string::npos ? 0 : at + after.size();
    return std::string(
        trimmed(std::string_view(result->out)
                    .substr(start, result->out.find_first_of(",\n", start) - start)));
}

bool isCxxSource(const std::string& path)
{
    constexpr std::array<std::string_view, 3> kEndings = {".cpp", ".cc", ".cxx"};
    return std::any_of(
        kEndings.begin(), kEndings.end(), [&](auto ending) { return path.ends_with(ending); });
}

/// The translation units of a native candidate, in the order of their names.
std::vector<std::string> translationUnits(const CandidateSpec& candidate)
{
    std::vector<std::string> units;
    for (const auto& file : candidate.files) {
        if (file.path.starts_with("kernels/")
            && (isCxxSource(file.path) || file.path.ends_with(".cu"))) {
            units.push_back(file.path);
        }
    }
    std::sort(units.begin(), units.end());
    return units;
}

BuildOutcome failed(std::string file, std::string message, int line = 0)
{
    BuildOutcome outcome;
    outcome.report.status = "failed";
    outcome.report.log = message + "\n";
    outcome.report.diagnostics.push_back({std::move(file), line, 0, "error", std::move(message)});
    return outcome;
}

/// Whether a Python-only candidate speaks of extensions that have to be compiled.
bool asksForExtensions(const CandidateSpec& candidate)
{
    return candidate.format == "modelnew"
           && std::any_of(candidate.files.begin(), candidate.files.end(), [](const auto& file) {
                  return file.path.ends_with(".py")
                         && (file.text.find("cpp_extension") != std::string::npos
                             || file.text.find("load_inline") != std::string::npos);
              });
}

/// Why a candidate cannot be built at all, before any compiler starts.
std::optional<BuildOutcome>
refuse(const CandidateSpec& candidate, bool cuda, const BuilderSettings& settings)
{
    std::set<std::string> names;
    for (const auto& file : candidate.files) {
        if (!isSafeRelativePath(file.path) || !names.insert(file.path).second) {
            return failed(file.path, "file names must be relative, without \"..\", and different");
        }
    }
    if (!names.contains("model_new.py")) {
        return failed("model_new.py", "the candidate has no model_new.py");
    }
    if (candidate.format == "modelnew") {
        return std::nullopt;
    }
    if (candidate.format == "cuda-agent") {
        const std::string why = refuseExtension(workdirExtension(candidate), cuda);
        return why.empty() ? std::nullopt : std::optional(failed("kernels", why));
    }
    if (candidate.format != "native") {
        return failed("", "unknown candidate format \"" + candidate.format + "\"");
    }
    const auto units = translationUnits(candidate);
    if (units.empty()) {
        return failed("kernels",
                      "a native candidate needs at least one kernels/*.cpp or kernels/*.cu");
    }
    for (const std::string& unit : units) {
        if (unit.ends_with(".cu") && !cuda) {
            return failed(unit,
                          "CUDA sources cannot be built for the CPU target: use a .cpp file or the "
                          "cuda device");
        }
        if (unit.ends_with(".cu") && settings.nvcc.empty()) {
            return failed(
                unit, "no nvcc on this machine: install the CUDA toolkit or use another worker");
        }
    }
    return std::nullopt;
}

/// Bytes of a regular file that the sandbox may have replaced by anything.
Result<std::string> readUntrusted(const fs::path& path)
{
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat info = {};
    if (!fd.valid() || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)
        || static_cast<std::uint64_t>(info.st_size) > kMaxLibraryBytes) {
        return fail(ErrorCode::NotFound, "the compiler left no usable kernels.so");
    }
    std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t count = ::read(fd.get(), bytes.data() + done, bytes.size() - done);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return fail(ErrorCode::Io,
                        "cannot read the built kernels.so",
                        std::strerror(errno)); // NOLINT(concurrency-mt-unsafe)
        }
        done += static_cast<std::size_t>(count);
    }
    return bytes;
}

/// Removes the private folder of one build.
struct WorkFolder
{
    fs::path path;
    explicit WorkFolder(fs::path folder)
        : path(std::move(folder))
    {}
    WorkFolder(const WorkFolder&) = delete;
    WorkFolder& operator=(const WorkFolder&) = delete;
    ~WorkFolder()
    {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
};

std::string cacheKey(const CandidateSpec& candidate,
                     bool cuda,
                     const BuilderSettings& settings,
                     const std::string& environment)
{
    Sha256 hash;
    addField(hash, kRecipe);
    addField(hash, environment);
    addField(hash, candidate.format);
    addField(hash, cuda ? "cuda" + settings.cudaArch : "cpu");
    addField(hash, std::to_string(candidate.flags.size()));
    for (const std::string& flag : candidate.flags) {
        addField(hash, flag);
    }
    auto files = candidate.files;
    std::sort(
        files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    for (const auto& file : files) {
        addField(hash, file.path);
        addField(hash, file.text);
    }
    return hash.finishHex();
}

/// The linker prints whole paths; a person knows the candidate's relative ones.
std::string withoutMountPoint(std::string log)
{
    constexpr std::string_view kInside = "/build/src/";
    for (auto at = log.find(kInside); at != std::string::npos; at = log.find(kInside, at)) {
        log.erase(at, kInside.size());
    }
    return log;
}

protocol::BuildReport reportOf(const CompileResult& compiled)
{
    protocol::BuildReport report;
    report.status = compiled.ok ? "ok" : "failed";
    const std::string log = withoutMountPoint(compiled.log);
    report.log = headAndTail(log, kMaxLogBytes);
    report.diagnostics = parseDiagnostics(log);
    report.kernels = parsePtxas(log);
    const bool explained =
        std::any_of(report.diagnostics.begin(),
                    report.diagnostics.end(),
                    [](const auto& diagnostic) { return diagnostic.severity == "error"; });
    if (!compiled.reason.empty() || (!compiled.ok && !explained)) {
        report.diagnostics.insert(
            report.diagnostics.begin(),
            {"",
             0,
             0,
             "error",
             compiled.reason.empty() ? "the compiler failed; see the log" : compiled.reason});
    }
    return report;
}

protocol::BuildReport withoutExports(protocol::BuildReport report, const std::string& reason)
{
    report.status = "failed";
    report.diagnostics.push_back(
        {"kernels",
         0,
         0,
         "error",
         reason.empty() ? "the sources compile but export no kernel: add LATHE_EXPORT(name, "
                          "function) from <lathe/kernel.h>"
                        : reason});
    return report;
}

/// Without device code the exported functions are the kernels.
void addKernels(protocol::BuildReport& report, const std::vector<std::string>& exported)
{
    if (report.kernels.empty()) {
        for (const std::string& name : exported) {
            protocol::KernelInfo kernel;
            kernel.name = name.substr(kSymbolPrefix.size());
            report.kernels.push_back(std::move(kernel));
        }
    }
}

} // namespace

Builder::Builder(const Sandbox& sandbox, BuilderSettings settings)
    : m_sandbox(sandbox)
    , m_settings(std::move(settings))
{
    const std::string cxx = versionOf(m_settings.cxx, "-dumpfullversion", "");
    m_toolchain = cxx.empty() ? "no C++ compiler" : m_settings.cxx.filename().string() + " " + cxx;
    if (!m_settings.nvcc.empty()) {
        const std::string nvcc = versionOf(m_settings.nvcc, "--version", "release ");
        m_toolchain += "; nvcc " + (nvcc.empty() ? "unknown" : nvcc);
    }
    Sha256 hash;
    addField(hash, hashHeaders(m_settings.includeFolders));
    addField(hash, m_toolchain);
    addField(hash, processor());
    m_environmentHash = hash.finishHex();
}

std::string Builder::toolchain() const
{
    return m_toolchain;
}

Result<BuildOutcome> Builder::build(const CandidateSpec& candidate,
                                    const std::string& device,
                                    int cancelFd,
                                    const DiscoverExtensions& discover)
{
    const std::int64_t start = monotonicNs();
    const bool cuda = device.starts_with("cuda");
    if (auto refused = refuse(candidate, cuda, m_settings)) {
        return std::move(*refused);
    }
    const bool withTorch = candidate.format == "cuda-agent" || asksForExtensions(candidate);
    if (withTorch && !m_torch) {
        auto torch = findTorch(m_settings.python);
        if (!torch) {
            return tl::unexpected(torch.error());
        }
        m_torch = std::make_shared<TorchPaths>(std::move(*torch));
    }
    const std::string key =
        cacheKey(candidate,
                 cuda,
                 m_settings,
                 m_environmentHash + (withTorch ? m_torch->key : std::string()));
    const auto seconds = [&] { return static_cast<double>(monotonicNs() - start) * 1e-9; };
    const BuildCache cache(m_settings.cacheFolder, m_settings.maxCacheBytes);
    if (auto entry = cache.find(key)) {
        entry->report.cached = true;
        entry->report.seconds = seconds();
        return BuildOutcome{std::move(entry->report), std::move(entry->folder)};
    }
    auto outcome = compileAndPublish(candidate, cuda, key, cancelFd, discover);
    if (outcome) {
        outcome->report.seconds = seconds();
    }
    return outcome;
}

Result<void> Builder::addExtension(const Extension& extension,
                                   bool cuda,
                                   const fs::path& work,
                                   const fs::path& target,
                                   protocol::BuildReport& report,
                                   int cancelFd) const
{
    if (const std::string why = refuseExtension(extension, cuda); !why.empty()) {
        report = failed({}, why).report;
        return {};
    }
    const fs::path folder = work / ("extension-" + extension.name + extension.key);
    if (auto made = makeOpenFolder(folder); !made) {
        return made;
    }
    auto compiled = compileExtension(m_sandbox, m_settings, *m_torch, extension, folder, cancelFd);
    if (!compiled) {
        return tl::unexpected(compiled.error());
    }
    report = reportOf(*compiled);
    if (report.status != "ok") {
        return {};
    }
    const auto library = readUntrusted(folder / "out" / (extension.name + ".so"));
    const auto names = library ? elfExports(*library, "PyInit_" + extension.name)
                               : tl::unexpected(library.error());
    if (!names || names->empty()) {
        report = withoutExports(std::move(report),
                                names ? "the extension " + extension.name
                                            + " compiles but defines no Python module: add "
                                              "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)"
                                      : names.error().message);
        return {};
    }
    return writeOpenFile(target, extension.name + ".so", *library);
}

Result<BuildOutcome> Builder::compileAndPublish(const CandidateSpec& candidate,
                                                bool cuda,
                                                const std::string& key,
                                                int cancelFd,
                                                const DiscoverExtensions& discover)
{
    const BuildCache cache(m_settings.cacheFolder, m_settings.maxCacheBytes);
    auto made = cache.makeWorkFolder();
    if (!made) {
        return tl::unexpected(made.error());
    }
    const WorkFolder work(*made);
    const fs::path entry = work.path / "entry";
    for (const fs::path& folder :
         {work.path / "src", work.path / "out", entry, entry / "candidate"}) {
        if (auto open = makeOpenFolder(folder); !open) {
            return tl::unexpected(open.error());
        }
    }
    for (const auto& file : candidate.files) {
        auto written = writeOpenFile(work.path / "src", file.path, file.text);
        // load() reads its sources from the candidate's folder.
        if (written && (file.path.ends_with(".py") || asksForExtensions(candidate))) {
            written = writeOpenFile(entry / "candidate", file.path, file.text);
        }
        if (!written) {
            return tl::unexpected(written.error());
        }
    }
    BuildOutcome outcome;
    outcome.report.status = "ok";
    if (candidate.format == "native") {
        if (auto given = m_sandbox.giveToTools(work.path / "out"); !given) {
            return tl::unexpected(given.error());
        }
        CompileJob job;
        job.settings = &m_settings;
        job.sources = work.path / "src";
        job.output = work.path / "out";
        job.files = translationUnits(candidate);
        job.flags = candidate.flags;
        job.cuda = cuda;
        auto compiled = compile(m_sandbox, job, cancelFd);
        if (!compiled) {
            return tl::unexpected(compiled.error());
        }
        auto report = reportOf(*compiled);
        if (report.status != "ok") {
            return BuildOutcome{std::move(report), {}};
        }
        const auto library = readUntrusted(work.path / "out/kernels.so");
        const auto names =
            library ? elfExports(*library, kSymbolPrefix) : tl::unexpected(library.error());
        if (!names || names->empty()) {
            return BuildOutcome{
                withoutExports(std::move(report), names ? "" : names.error().message), {}};
        }
        addKernels(report, *names);
        if (auto written = writeOpenFile(entry / "candidate", "kernels.so", *library); !written) {
            return tl::unexpected(written.error());
        }
        outcome.report = std::move(report);
    }
    if (candidate.format == "cuda-agent") {
        auto built = addExtension(workdirExtension(candidate),
                                  cuda,
                                  work.path,
                                  entry / "candidate",
                                  outcome.report,
                                  cancelFd);
        if (!built) {
            return tl::unexpected(built.error());
        }
    } else if (asksForExtensions(candidate) && discover) {
        auto asked = discover(entry / "candidate", cancelFd);
        if (!asked) {
            return tl::unexpected(asked.error());
        }
        if (!asked->failure.empty()) {
            return failed(asked->file, asked->failure, asked->line);
        }
        for (const Extension& extension : asked->extensions) {
            const std::string place = "extensions/" + extension.key;
            auto built = makeOpenFolder(entry / "candidate/extensions")
                             .and_then([&] { return makeOpenFolder(entry / "candidate" / place); })
                             .and_then([&] {
                                 return addExtension(extension,
                                                     cuda,
                                                     work.path,
                                                     entry / "candidate" / place,
                                                     outcome.report,
                                                     cancelFd);
                             });
            if (!built) {
                return tl::unexpected(built.error());
            }
            if (outcome.report.status != "ok") {
                break;
            }
        }
    }
    if (outcome.report.status != "ok") {
        return outcome;
    }
    auto published = cache.publish(key, entry, outcome.report);
    if (!published) {
        return tl::unexpected(published.error());
    }
    outcome.folder = published->folder;
    return outcome;
}

} // namespace lathe::worker
