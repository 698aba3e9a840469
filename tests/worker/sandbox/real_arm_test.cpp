// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
// The host with the real arm: torch imported in the sandbox, phases forked from it.
#include <lathe/base/clock.h>
#include <lathe/base/files.h>
#include <lathe/worker/arm_host.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace lathe::worker {
namespace {

namespace fs = std::filesystem;
using protocol::ArmMessage;
using protocol::ArmWriter;
using protocol::FieldTag;

constexpr double kLong = 120;

class RealArm : public testing::Test
{
protected:
    static void SetUpTestSuite() { s_sandbox = std::make_unique<Sandbox>(Sandbox::detect(false)); }
    static void TearDownTestSuite() { s_sandbox.reset(); }
    RealArm()
        : m_folder(makeTempFolder(fs::temp_directory_path(), "lathe-real-").value())
    {
        ::chmod(m_folder.c_str(), 0755);
        fs::create_directory(m_folder / "task");
        fs::create_directory(m_folder / "candidate");
        m_settings.armBinary = LATHE_ARM_BINARY;
        m_settings.python = LATHE_TEST_PYTHON;
        m_settings.threads = 1;
    }
    ~RealArm() override
    {
        m_host.reset();
        fs::remove_all(m_folder);
    }
    void start(const std::string& reference)
    {
        ASSERT_TRUE(writeFileAtomic(m_folder / "task/reference.py", reference, 0644));
        auto host =
            ArmHost::start(*s_sandbox, m_settings, m_folder / "task", m_folder / "candidate");
        ASSERT_TRUE(host.has_value()) << host.error().message << host.error().detail;
        m_host = std::move(*host);
        const auto ready = m_host->waitReady(kLong, -1);
        ASSERT_TRUE(ready.has_value()) << ready.error().message << ready.error().detail;
        EXPECT_TRUE(ready->starts_with("torch 2")) << *ready;
        EXPECT_TRUE(m_host->ready());
    }
    static Result<ArmReply>
    load(ArmProcess& phase, const std::string& compileMode, double seconds = kLong)
    {
        return phase.call(ArmWriter(ArmMessage::LoadReference)
                              .text(FieldTag::Text, "/task/reference.py")
                              .text(FieldTag::Text2, compileMode)
                              .text(FieldTag::Text3, "eval")
                              .text(FieldTag::Text4, "pytorch-default"),
                          {},
                          seconds,
                          -1);
    }
    static std::string text(const Result<ArmReply>& reply)
    {
        if (!reply) {
            return reply.error().message;
        }
        return reply->message.text(FieldTag::Text) + ": " + reply->message.text(FieldTag::Text2)
               + "\n" + reply->message.text(FieldTag::Text3);
    }

    fs::path m_folder;
    ArmSettings m_settings;
    std::unique_ptr<ArmHost> m_host;
    static std::unique_ptr<Sandbox> s_sandbox;
};

std::unique_ptr<Sandbox> RealArm::s_sandbox;

constexpr const char* kReference = "import torch\n"
                                   "import torch.nn as nn\n"
                                   "class Model(nn.Module):\n"
                                   "    def forward(self, x):\n"
                                   "        return torch.relu(x) * 2 + 1\n"
                                   "def get_inputs():\n"
                                   "    return [torch.rand(64, 64)]\n"
                                   "def get_init_inputs():\n"
                                   "    return []\n";

TEST_F(RealArm, ForksPhasesThatRunTorch)
{
    start(kReference);
    for (int round = 0; round < 3; ++round) {
        const std::int64_t before = monotonicNs();
        auto phase = m_host->fork("reference", -1);
        ASSERT_TRUE(phase.has_value()) << phase.error().message << phase.error().detail;
        const auto null = (*phase)->call(ArmWriter(ArmMessage::Null), {}, kLong, -1);
        ASSERT_TRUE(null.has_value()) << null.error().message << (*phase)->takeOutput();
        std::printf("fork to first answer: %.1f ms, null round trip: %.0f us\n",
                    static_cast<double>(monotonicNs() - before) * 1e-6,
                    static_cast<double>(null->roundTripNs) * 1e-3);
        const auto loaded = load(**phase, "");
        ASSERT_TRUE(loaded.has_value()) << loaded.error().message << (*phase)->takeOutput();
        EXPECT_NE(loaded->message.type(), ArmMessage::Failed) << text(loaded);
        const auto inputs = (*phase)->call(
            ArmWriter(ArmMessage::MakeInputs).integer(FieldTag::Int, 1).integer(FieldTag::Int2, 0),
            {},
            kLong,
            -1);
        ASSERT_TRUE(inputs.has_value()) << inputs.error().message << (*phase)->takeOutput();
        EXPECT_EQ(inputs->message.type(), ArmMessage::Described) << text(inputs);
    }
}

TEST_F(RealArm, TaskFilesThatLoopCrashOrExitAreTold)
{
    start("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n");
    auto crashed = m_host->fork("reference", -1);
    ASSERT_TRUE(crashed.has_value());
    EXPECT_FALSE(load(**crashed, "").has_value());
    EXPECT_EQ((*crashed)->exitState().describe(), "killed by SIGSEGV");

    ASSERT_TRUE(writeFileAtomic(m_folder / "task/reference.py", "import os\nos._exit(0)\n", 0644));
    auto left = m_host->fork("reference", -1);
    ASSERT_TRUE(left.has_value());
    EXPECT_FALSE(load(**left, "").has_value());
    EXPECT_EQ((*left)->exitState().describe(), "exited with code 0 without an answer");

    ASSERT_TRUE(
        writeFileAtomic(m_folder / "task/reference.py", "while True: print('x' * 1000)\n", 0644));
    auto looping = m_host->fork("reference", -1);
    ASSERT_TRUE(looping.has_value());
    const auto late = load(**looping, "", 1);
    ASSERT_FALSE(late.has_value());
    EXPECT_EQ(late.error().code, ErrorCode::Timeout);
    EXPECT_TRUE((*looping)->takeOutput().starts_with("x"));
    EXPECT_TRUE(m_host->alive());
}

} // namespace
} // namespace lathe::worker
