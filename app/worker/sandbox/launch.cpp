// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "launch.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>
#include <system_error>

namespace lathe::worker {
namespace {

namespace fs = std::filesystem;

/// A process that carries one of these reserves terabytes of addresses before it does anything.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitizedArms = true;
#else
constexpr bool kSanitizedArms = false;
#endif

class Arguments
{
public:
    template <class... Words>
    void add(const Words&... words)
    {
        (m_words.emplace_back(words), ...);
    }
    /// Parent folders that bubblewrap would otherwise make 0700, closed to the user inside.
    void parents(const fs::path& inside)
    {
        std::vector<fs::path> missing;
        for (fs::path folder = inside.parent_path(); folder.has_relative_path();
             folder = folder.parent_path()) {
            missing.push_back(folder);
        }
        std::reverse(missing.begin(), missing.end());
        for (const fs::path& folder : missing) {
            if (m_made.insert(folder).second && folder != "/tmp" && !belowSystem(folder)) {
                add("--perms", "0755", "--dir", folder.string());
            }
        }
    }
    void readOnly(const fs::path& host, const fs::path& inside)
    {
        parents(inside);
        add("--ro-bind", host.string(), inside.string());
    }
    std::vector<std::string> take() { return std::move(m_words); }
    static bool belowSystem(const fs::path& path)
    {
        const auto first = std::next(path.begin());
        return first != path.end() && (*first == "usr" || *first == "dev" || *first == "proc");
    }

private:
    std::vector<std::string> m_words;
    std::set<fs::path> m_made;
};

void addSystem(Arguments& arguments)
{
    std::error_code error;
    arguments.add("--ro-bind", "/usr", "/usr");
    for (const char* name : {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
        if (fs::is_symlink(name, error)) {
            arguments.add("--symlink", fs::read_symlink(name, error).string(), name);
        } else if (fs::is_directory(name, error)) {
            arguments.add("--ro-bind", name, name);
        }
    }
    for (const char* name : {"/etc/ld.so.cache",
                             "/etc/ld.so.conf",
                             "/etc/ld.so.conf.d",
                             "/etc/alternatives",
                             "/sys/devices/system"}) {
        if (fs::exists(name, error)) {
            arguments.readOnly(name, name);
        }
    }
    // A toolkit outside /usr is reached through the link that names it.
    const fs::path toolkit = fs::canonical("/usr/local/cuda", error);
    if (!error && !Arguments::belowSystem(toolkit)) {
        arguments.readOnly(toolkit, toolkit);
    }
}

void addGpu(Arguments& arguments)
{
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/dev", error)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("nvidia")) {
            arguments.add("--dev-bind", entry.path().string(), entry.path().string());
        }
    }
}

void addLimits(std::vector<std::string>& words,
               const SandboxOptions& options,
               bool addressLimit,
               bool processes)
{
    const auto limit = [&](const char* name, std::uint64_t value) {
        words.push_back("--" + std::string(name) + "=" + std::to_string(value));
    };
    words.emplace_back("prlimit");
    limit("core", 0);
    limit("fsize", options.fileBytes);
    limit("nofile", 4096);
    if (processes) {
        limit("nproc", static_cast<std::uint64_t>(std::max(options.maxProcesses, 1)));
    }
    // CUDA, too, reserves more addresses than any limit allows.
    const bool reservesAddresses = options.gpu || (kSanitizedArms && options.purpose == "arm");
    if (addressLimit && !reservesAddresses) {
        limit("as", options.memoryBytes + options.libraryBytes);
        // Private writable memory alone, which no library needs much of (setrlimit(2)).
        limit("data", options.memoryBytes);
    }
    words.emplace_back("--");
}

void addNamespaces(Arguments& arguments, const SandboxOptions& options, const LaunchPlan& plan)
{
    arguments.add("--unshare-pid",
                  "--unshare-net",
                  "--unshare-ipc",
                  "--unshare-uts",
                  "--unshare-cgroup-try",
                  "--die-with-parent",
                  "--new-session",
                  "--hostname",
                  "lathe",
                  "--cap-drop",
                  "ALL");
    if (!plan.root) {
        arguments.add("--unshare-user", "--disable-userns");
    } else if (options.keepSetuid) {
        arguments.add(
            "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_KILL");
    } else {
        // Used up by setpriv below, before the command starts.
        arguments.add(
            "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP");
    }
}

} // namespace

std::vector<std::string> sandboxEnvironment(const SandboxOptions& options)
{
    std::vector<std::string> environment = {
        "PATH=/usr/local/cuda/bin:/usr/local/bin:/usr/bin:/bin",
        "HOME=/tmp",
        "TMPDIR=/tmp",
        "LANG=C.UTF-8",
        "USER=lathe",
        "LOGNAME=lathe",
    };
    environment.insert(environment.end(), options.environment.begin(), options.environment.end());
    return environment;
}

std::vector<std::string> launchCommand(const SandboxOptions& options, const LaunchPlan& plan)
{
    Arguments arguments;
    arguments.add(plan.bwrap.string());
    addNamespaces(arguments, options, plan);
    addSystem(arguments);
    arguments.add("--proc", "/proc", "--dev", "/dev");
    const std::string tmpBytes = std::to_string(options.tmpBytes);
    for (const char* folder : {"/tmp", "/dev/shm"}) {
        arguments.add("--size", tmpBytes, "--perms", "1777", "--tmpfs", folder);
    }
    if (options.gpu) {
        addGpu(arguments);
    }
    for (const Mount& mount : options.mounts) {
        if (mount.host == mount.inside && !mount.writable && Arguments::belowSystem(mount.inside)) {
            continue; // there already
        }
        if (mount.writable) {
            arguments.parents(mount.inside);
            arguments.add("--bind", mount.host.string(), mount.inside.string());
        } else {
            arguments.readOnly(mount.host, mount.inside);
        }
    }
    arguments.add("--remount-ro", "/", "--chdir", options.workingFolder, "--clearenv");
    for (const std::string& variable : sandboxEnvironment(options)) {
        const auto equals = variable.find('=');
        arguments.add("--setenv", variable.substr(0, equals), variable.substr(equals + 1));
    }
    arguments.add("--");
    auto words = arguments.take();
    addLimits(words, options, plan.addressLimit, true);
    if (plan.root && !options.keepSetuid) {
        const std::string uid = std::to_string(plan.uid);
        for (const char* word : {"setpriv",
                                 "--reuid",
                                 uid.c_str(),
                                 "--regid",
                                 uid.c_str(),
                                 "--clear-groups",
                                 "--inh-caps=-all",
                                 "--bounding-set=-all",
                                 "--no-new-privs",
                                 "--"}) {
            words.emplace_back(word);
        }
    }
    words.insert(words.end(), options.command.begin(), options.command.end());
    return words;
}

std::vector<std::string> bareCommand(const SandboxOptions& options)
{
    std::vector<std::string> words;
    addLimits(words, options, false, false);
    for (std::string word : options.command) {
        for (const Mount& mount : options.mounts) {
            const std::string inside = mount.inside.string();
            // A whole path or the path behind an option letter ("-I/include").
            const auto at = word.find(inside);
            const bool whole = at == 0 || (at == 2 && word.front() == '-');
            const auto end = at + inside.size();
            if (at != std::string::npos && whole && (end == word.size() || word[end] == '/')) {
                word.replace(at, inside.size(), mount.host.string());
                break;
            }
        }
        words.push_back(std::move(word));
    }
    return words;
}

} // namespace lathe::worker
