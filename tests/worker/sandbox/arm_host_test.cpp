// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "separation.h"

#include <lathe/base/clock.h>
#include <lathe/base/files.h>
#include <lathe/process/cancel.h>
#include <lathe/worker/arm_host.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <netinet/in.h>
#include <set>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lathe::worker {
namespace {

namespace fs = std::filesystem;
using protocol::ArmMessage;
using protocol::ArmWriter;
using protocol::FieldTag;

constexpr double kLong = 30;

class ArmHostTest : public testing::Test
{
protected:
    static void SetUpTestSuite() { s_sandbox = std::make_unique<Sandbox>(Sandbox::detect(false)); }
    static void TearDownTestSuite() { s_sandbox.reset(); }

    ArmHostTest()
        : m_folder(makeTempFolder(fs::temp_directory_path(), "lathe-arm-").value())
    {
        ::chmod(m_folder.c_str(), 0755);
        fs::create_directory(m_folder / "task");
        fs::create_directory(m_folder / "candidate");
        m_settings.armBinary = LATHE_FAKE_ARM;
        m_settings.python = "/usr/bin/python3";
    }
    ~ArmHostTest() override
    {
        m_host.reset();
        fs::remove_all(m_folder);
    }
    void start()
    {
        auto host =
            ArmHost::start(*s_sandbox, m_settings, m_folder / "task", m_folder / "candidate");
        ASSERT_TRUE(host.has_value()) << host.error().message << host.error().detail;
        m_host = std::move(*host);
        const auto ready = m_host->waitReady(kLong, -1);
        ASSERT_TRUE(ready.has_value()) << ready.error().message << ready.error().detail;
        EXPECT_EQ(*ready, "torch none, Python none");
    }
    std::unique_ptr<ArmProcess> fork()
    {
        auto phase = m_host->fork("test", -1);
        EXPECT_TRUE(phase.has_value()) << phase.error().message << phase.error().detail;
        return std::move(*phase);
    }
    static Result<ArmReply>
    ask(ArmProcess& phase, const std::string& action, double seconds = kLong, int cancelFd = -1)
    {
        return phase.call(ArmWriter(ArmMessage::LoadCandidate).text(FieldTag::Text, action),
                          {},
                          seconds,
                          cancelFd);
    }

    fs::path m_folder;
    ArmSettings m_settings;
    std::unique_ptr<ArmHost> m_host;
    static std::unique_ptr<Sandbox> s_sandbox;
};

std::unique_ptr<Sandbox> ArmHostTest::s_sandbox;

TEST_F(ArmHostTest, AnswersAndMeasures)
{
    start();
    auto phase = fork();
    const auto reply = phase->call(ArmWriter(ArmMessage::Null), {}, kLong, -1);
    ASSERT_TRUE(reply.has_value());
    EXPECT_EQ(reply->message.type(), ArmMessage::Ok);
    EXPECT_GT(reply->roundTripNs, 0);
    EXPECT_GT(m_host->usage().second, 0u);
}

TEST_F(ArmHostTest, EveryPhaseHasItsOwnUserWithoutPrivileges)
{
    if (::geteuid() != 0) {
        GTEST_SKIP() << "user ids are real only for root";
    }
    start();
    std::set<std::int64_t> uids;
    for (int i = 0; i < 3; ++i) {
        auto phase = fork();
        const auto reply = ask(*phase, "uid");
        ASSERT_TRUE(reply.has_value());
        uids.insert(reply->message.integer(FieldTag::Int));
        const std::string status = reply->message.text(FieldTag::Text);
        EXPECT_NE(status.find("CapEff:\t0000000000000000"), std::string::npos);
        EXPECT_NE(status.find("CapPrm:\t0000000000000000"), std::string::npos);
        EXPECT_NE(status.find("NoNewPrivs:\t1"), std::string::npos);
        const auto killed = ask(*phase, "killzygote");
        ASSERT_TRUE(killed.has_value());
        EXPECT_EQ(killed->message.integer(FieldTag::Int), EPERM);
    }
    EXPECT_EQ(uids.size(), 3u);
    EXPECT_FALSE(uids.contains(0));
}

TEST_F(ArmHostTest, OpeningsAreSeenFromOutside)
{
    start();
    auto phase = fork();
    // It answers, so it has dropped what it started with.
    ASSERT_TRUE(ask(*phase, "uid").has_value());
    // Found, and not only quiet because nobody looked.
    const auto found = phase->liveProcesses();
    ASSERT_EQ(found.size(), 1u);
    EXPECT_GT(found.front().startTicks, 0u);
    EXPECT_EQ(phase->openings(), std::vector<std::string>());
    // This process is confined by nothing: it shares all of its own namespaces.
    const auto own = openings(::getpid());
    const auto says = [&own](const std::string& what) {
        return std::any_of(own.begin(), own.end(), [&](const std::string& opening) {
            return opening.find(what) != std::string::npos;
        });
    };
    for (const char* what : {"pid namespace", "net namespace", "mnt namespace"}) {
        EXPECT_TRUE(says(what)) << what;
    }
    EXPECT_EQ(says("NoNewPrivs"), ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0);
    EXPECT_EQ(says("CapEff"), ::geteuid() == 0);
    phase->kill();
    EXPECT_EQ(phase->openings(), std::vector<std::string>());
}

TEST_F(ArmHostTest, NamesEveryWayToEnd)
{
    start();
    auto crashed = fork();
    const auto crash = ask(*crashed, "crash");
    ASSERT_FALSE(crash.has_value());
    EXPECT_EQ(crash.error().code, ErrorCode::Protocol);
    EXPECT_EQ(crashed->exitState().describe(), "killed by SIGSEGV");

    auto left = fork();
    ASSERT_FALSE(ask(*left, "exit:0").has_value());
    EXPECT_EQ(left->exitState().describe(), "exited with code 0 without an answer");

    auto hung = fork();
    const auto hang = ask(*hung, "hang", 0.2);
    ASSERT_FALSE(hang.has_value());
    EXPECT_EQ(hang.error().code, ErrorCode::Timeout);
    EXPECT_EQ(hung->exitState().describe(), "killed by SIGKILL");

    // The host outlives them all.
    EXPECT_TRUE(m_host->alive());
    auto next = fork();
    EXPECT_TRUE(ask(*next, "").has_value());
}

TEST_F(ArmHostTest, CancelsAndRefusesLies)
{
    start();
    process::CancelSource cancel;
    cancel.cancel();
    auto phase = fork();
    const auto cancelled = ask(*phase, "hang", kLong, cancel.fd());
    ASSERT_FALSE(cancelled.has_value());
    EXPECT_EQ(cancelled.error().code, ErrorCode::Cancelled);
    for (const char* lie : {"lie", "garbage"}) {
        auto liar = fork();
        const auto reply = ask(*liar, lie);
        ASSERT_FALSE(reply.has_value()) << lie;
        EXPECT_NE(reply.error().code, ErrorCode::Timeout);
    }
}

TEST_F(ArmHostTest, FloodsNeitherBlockNorFillMemory)
{
    start();
    auto phase = fork();
    // 200 MB: far over the pipe, the tail and any sensible buffer.
    const auto reply = ask(*phase, "flood:200000000");
    ASSERT_TRUE(reply.has_value()) << reply.error().message;
    const std::string tail = phase->takeOutput();
    EXPECT_LE(tail.size(), (64u << 10) + 2);
    EXPECT_TRUE(tail.ends_with("the end\xef\xbf\xbd"));
    EXPECT_EQ(phase->takeOutput(), "");
}

TEST_F(ArmHostTest, SeesNeitherNetworkNorRootsFiles)
{
    start();
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
    ASSERT_EQ(::listen(listener, 1), 0);
    ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
    ASSERT_TRUE(writeFileAtomic(m_folder / "task/open", "open", 0644).has_value());
    ASSERT_TRUE(writeFileAtomic(m_folder / "task/secret", "secret", 0600).has_value());

    auto phase = fork();
    const auto connected = ask(*phase, "connect:" + std::to_string(ntohs(address.sin_port)));
    ::close(listener);
    ASSERT_TRUE(connected.has_value());
    EXPECT_NE(connected->message.integer(FieldTag::Int), 0);
    EXPECT_EQ(ask(*phase, "read:/task/open")->message.text(FieldTag::Text), "open");
    if (::geteuid() == 0) {
        EXPECT_EQ(ask(*phase, "read:/task/secret")->message.text(FieldTag::Text),
                  "errno " + std::to_string(EACCES));
    }
    const std::string outside = "read:" + (m_folder / "task/open").string();
    EXPECT_EQ(ask(*phase, outside)->message.text(FieldTag::Text),
              "errno " + std::to_string(ENOENT));
    EXPECT_EQ(ask(*phase, "read:/etc/passwd")->message.text(FieldTag::Text),
              "errno " + std::to_string(ENOENT));
    EXPECT_NE(ask(*phase, "write:/task/x")->message.integer(FieldTag::Int), 0);
    EXPECT_NE(ask(*phase, "write:/candidate/x")->message.integer(FieldTag::Int), 0);
    EXPECT_EQ(ask(*phase, "write:/tmp/x")->message.integer(FieldTag::Int), 0);
}

TEST_F(ArmHostTest, ForkBombIsLimitedAndKilledWithItsPhase)
{
    start();
    const double before = static_cast<double>(m_host->usage().second);
    {
        auto phase = fork();
        const auto reply = ask(*phase, "forks:5000");
        ASSERT_TRUE(reply.has_value());
        EXPECT_GT(reply->message.integer(FieldTag::Int), 0);
        EXPECT_LE(reply->message.integer(FieldTag::Int), 300);
        EXPECT_GT(static_cast<double>(m_host->usage().second), before);
    }
    EXPECT_TRUE(m_host->alive());
    auto next = fork();
    // All of the bomb's processes are gone: the same number can be started again.
    const auto again = ask(*next, "forks:100");
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(again->message.integer(FieldTag::Int), 100);
}

TEST_F(ArmHostTest, StoppingLeavesNothingOfABomb)
{
    start();
    auto phase = fork();
    const auto uid = ask(*phase, "uid")->message.integer(FieldTag::Int);
    ASSERT_TRUE(ask(*phase, "forks:5000").has_value());
    m_host->stop(); // with its bomb alive
    EXPECT_FALSE(m_host->alive());
    if (::geteuid() == 0) {
        process::SpawnOptions find;
        find.command = {"pgrep", "-c", "-u", std::to_string(uid)};
        EXPECT_EQ(process::runCaptured(find, 10)->out, "0\n");
    }
    start();
    auto next = fork();
    if (::geteuid() == 0) {
        EXPECT_NE(ask(*next, "uid")->message.integer(FieldTag::Int),
                  uid); // also in the next sandbox
    }
    EXPECT_EQ(ask(*next, "forks:100")->message.integer(FieldTag::Int), 100);
}

TEST_F(ArmHostTest, KeepsOtherPhasesWhenOneIsKilled)
{
    start();
    auto first = fork();
    auto second = fork();
    second->kill();
    EXPECT_TRUE(ask(*first, "").has_value());
}

TEST_F(ArmHostTest, PausesAndContinues)
{
    start();
    auto phase = fork();
    phase->pause(true);
    ASSERT_TRUE(phase->send(ArmWriter(ArmMessage::Null), {}).has_value());
    ::usleep(20'000);
    EXPECT_FALSE(phase->replyReady());
    phase->pause(false);
    EXPECT_TRUE(phase->receive(kLong, -1).has_value());
}

TEST_F(ArmHostTest, MemoryIsLimited)
{
    m_settings.memoryBytes = 256u << 20;
    start();
    auto phase = fork();
    ASSERT_FALSE(ask(*phase, "memory:1000000000").has_value());
    const auto end = phase->exitState();
    EXPECT_TRUE(end.exited);
    EXPECT_NE(end.signal, 0);
}

TEST_F(ArmHostTest, ReferenceArmsShareTheirCompileCache)
{
    m_settings.inductorCache = m_folder / "inductor";
    for (int round = 0; round < 2; ++round) {
        start();
        auto phase = fork();
        EXPECT_EQ(ask(*phase, "write:/lathe/inductor/kernel")->message.integer(FieldTag::Int), 0)
            << round;
        const auto environment = ask(*phase, "environment");
        EXPECT_NE(environment->message.text(FieldTag::Text)
                      .find("TORCHINDUCTOR_CACHE_DIR=/lathe/inductor\n"),
                  std::string::npos);
    }
    EXPECT_TRUE(fs::exists(m_folder / "inductor/kernel"));
}

TEST_F(ArmHostTest, SaysSoWhenTheArmDoesNotStart)
{
    m_settings.armBinary = "/nonexistent/lathe-arm";
    const auto none =
        ArmHost::start(*s_sandbox, m_settings, m_folder / "task", m_folder / "candidate");
    ASSERT_FALSE(none.has_value());
    EXPECT_EQ(none.error().code, ErrorCode::NotFound);

    m_settings.armBinary = "/usr/bin/true";
    auto wrong = ArmHost::start(*s_sandbox, m_settings, m_folder / "task", m_folder / "candidate");
    ASSERT_TRUE(wrong.has_value());
    const auto ready = (*wrong)->waitReady(kLong, -1);
    ASSERT_FALSE(ready.has_value());
    EXPECT_EQ(ready.error().code, ErrorCode::Protocol);
    EXPECT_FALSE((*wrong)->alive());
}

} // namespace
} // namespace lathe::worker
