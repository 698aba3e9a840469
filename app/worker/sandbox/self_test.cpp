// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "self_test.h"

#include <lathe/base/files.h>
#include <lathe/base/text.h>

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lathe::worker {
namespace {

namespace fs = std::filesystem;
constexpr int kProcessLimit = 24;
constexpr int kForks = 64;
constexpr double kTimeoutSeconds = 10;

/// A listening socket on the loopback interface: what the sandbox must not reach.
struct Listener
{
    UniqueFd fd;
    int port = 0;
};

Listener listenOnLoopback()
{
    Listener listener;
    listener.fd = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener.fd.get(), generic, size) == 0 && ::listen(listener.fd.get(), 4) == 0
        && ::getsockname(listener.fd.get(), generic, &size) == 0) {
        listener.port = ntohs(address.sin_port);
    }
    return listener;
}

/// The network probe as a host process runs it: shows that the probe can succeed, so that its
/// failure means something.
bool reachableFromHost(const std::string& probe)
{
    process::SpawnOptions options;
    options.command = {"bash", "-c", probe};
    const auto result = process::runCaptured(options, kTimeoutSeconds, 4096);
    return result && result->exitCode == 0;
}

std::string namespaceOf(const char* name)
{
    std::error_code error;
    return fs::read_symlink(std::string("/proc/self/ns/") + name, error).string();
}

/// Lines "key value" of the probe's output.
std::map<std::string, std::string> readAnswers(const std::string& text)
{
    std::map<std::string, std::string> answers;
    for (const std::string& line : splitLines(text)) {
        const auto space = line.find(' ');
        answers[line.substr(0, space)] = space == std::string::npos ? "" : line.substr(space + 1);
    }
    return answers;
}

class SelfTest
{
public:
    SelfTest(const Sandbox& sandbox, SandboxReport& report, fs::path folder)
        : m_sandbox(sandbox)
        , m_report(report)
        , m_folder(std::move(folder))
    {}

    bool run(bool memoryGroups)
    {
        if (!writeFileAtomic(m_folder / "seen/open", "open", 0644)
            || !writeFileAtomic(m_folder / "seen/secret", "secret", 0600)
            || !writeFileAtomic(m_folder / "unseen", "secret", 0600)) {
            return prove("probe files", false, "cannot write to " + m_folder.string());
        }
        bool held = probeIsolation();
        held = held && probeProcessLimit();
        if (held) {
            probeMemoryLimit(memoryGroups);
        }
        return held;
    }

private:
    bool prove(const char* name, bool held, std::string detail)
    {
        m_report.proofs.push_back({name, held, std::move(detail)});
        return held;
    }

    SandboxOptions shell(std::string script) const
    {
        SandboxOptions options;
        options.purpose = "self-test";
        options.command = {"bash", "-c", std::move(script)};
        options.mounts = {{m_folder / "seen", "/probe", false}};
        options.maxProcesses = kProcessLimit;
        options.pipeStdout = true;
        return options;
    }

    bool probeIsolation()
    {
        const Listener listener = listenOnLoopback();
        const std::string connect = "exec 3<>/dev/tcp/127.0.0.1/" + std::to_string(listener.port);
        const std::string unseen = (m_folder / "unseen").string();
        const std::string script =
            "echo started yes; (" + connect
            + ") 2>/dev/null && echo network reached || echo network refused;"
              "echo net $(readlink /proc/self/ns/net); echo pid $(readlink /proc/self/ns/pid);"
              "echo open $(cat /probe/open 2>/dev/null); echo secret $(cat /probe/secret "
              "2>/dev/null);"
              "echo unseen $(cat "
            + shellQuote(unseen)
            + " 2>/dev/null); echo written $(touch /probe/x 2>/dev/null && echo probe) "
              "$(touch /usr/lathe-x 2>/dev/null && echo usr) $(touch /lathe-x 2>/dev/null && echo "
              "root);"
              "while read -r key value; do case $key in CapEff:) echo caps $value;; NoNewPrivs:) "
              "echo nnp $value;; esac;"
              "done < /proc/self/status";
        const auto result = m_sandbox.run(shell(script), kTimeoutSeconds, -1, 1u << 16);
        if (!result || result->exitCode != 0) {
            const std::string detail = result
                                           ? result->err + result->out
                                           : result.error().message + ": " + result.error().detail;
            return prove("sandbox starts", false, std::string(trimmed(detail)));
        }
        auto answers = readAnswers(result->out);
        bool held = prove("sandbox starts", answers["started"] == "yes", "");
        const bool control = reachableFromHost(connect);
        held &= prove("network unreachable",
                      answers["network"] == "refused" && answers["net"] != namespaceOf("net")
                          && control,
                      control ? "a listening socket of the host is refused inside"
                              : "the probe does not work here");
        const bool otherUser = m_sandbox.firstUid() != 0;
        held &=
            prove("root's files unreadable",
                  answers["open"] == "open" && answers["unseen"].empty()
                      && (!otherUser || answers["secret"].empty()),
                  otherUser ? "a 0600 file in a mounted folder cannot be read, others are not there"
                            : "files that are not mounted are not there");
        held &= prove("parent's processes invisible",
                      !answers["pid"].empty() && answers["pid"] != namespaceOf("pid"),
                      "own pid namespace");
        held &= prove("mounts read-only",
                      trimmed(answers["written"]).empty(),
                      std::string(trimmed(answers["written"])));
        held &=
            prove("no privileges",
                  answers["caps"] == "0000000000000000" && answers["nnp"] == "1",
                  "effective capabilities " + answers["caps"] + ", no_new_privs " + answers["nnp"]);
        return held;
    }

    bool probeProcessLimit()
    {
        // A shell that cannot fork ends or retries for long; either way it does not print the last
        // line.
        const std::string script =
            "i=0; while [ $i -lt " + std::to_string(kForks)
            + " ]; do sleep 30 & i=$((i+1)); echo forks $i; done; echo all yes";
        SandboxOptions options = shell(script);
        options.command = {"sh", "-c", script};
        const auto result = m_sandbox.run(options, 2, -1, 1u << 16);
        if (!result) {
            return prove("process limit", false, result.error().message);
        }
        auto answers = readAnswers(result->out);
        return prove("process limit",
                     answers["all"].empty() && !answers["forks"].empty(),
                     answers["forks"] + " forks with a limit of " + std::to_string(kProcessLimit));
    }

    void probeMemoryLimit(bool memoryGroups)
    {
        // tail must hold what it may have to print: twice the limit.
        SandboxOptions options = shell("head -c 134217728 /dev/zero | tail -c 134217727 | wc -c");
        options.memoryBytes = 64u << 20;
        const auto result = m_sandbox.run(options, kTimeoutSeconds, -1, 4096);
        const bool held = result && trimmed(result->out) != "134217727";
        prove("memory limit", held, memoryGroups ? "control group" : "address space limit");
    }

    const Sandbox& m_sandbox;
    SandboxReport& m_report;
    fs::path m_folder;
};

} // namespace

bool runSelfTest(const Sandbox& sandbox, bool memoryGroups, SandboxReport& report)
{
    auto folder = makeTempFolder(fs::temp_directory_path(), "lathe-self-test-");
    if (!folder) {
        report.proofs.push_back({"probe files", false, folder.error().message});
        return false;
    }
    // The probes' user must be able to reach what is mounted; the mounts decide what that is.
    ::chmod(folder->c_str(), 0755);
    std::error_code ignored;
    fs::create_directory(*folder / "seen", ignored);
    const bool held = SelfTest(sandbox, report, *folder).run(memoryGroups);
    fs::remove_all(*folder, ignored);
    return held;
}

} // namespace lathe::worker
