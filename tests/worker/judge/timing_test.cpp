// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "fake_arm_process.h"

#include <lathe/worker/device_lock.h>
#include <lathe/worker/interleaved.h>
#include <lathe/worker/one_at_a_time.h>

#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <set>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace lathe;
using namespace lathe::worker;
using protocol::ArmMessage;
using protocol::ArmWriter;
using protocol::FieldTag;

namespace {

constexpr std::int64_t kNullNs = 40'000;

/// An arm whose calls take perCallNs on a clock that nobody has to wait for.
FakeArmProcess armTaking(std::int64_t perCallNs)
{
    FakeArmProcess process([](ArmMessage asked) {
        return asked == ArmMessage::Time
                   ? ArmWriter(ArmMessage::Timed).floats(FieldTag::Floats, {0})
                   : ArmWriter(ArmMessage::Ok);
    });
    process.roundTripNs = [perCallNs](FakeArmProcess& self) {
        const bool timed = self.asked.back() == ArmMessage::Time;
        return kNullNs + (timed ? perCallNs * self.last->integer(FieldTag::Int) : 0);
    };
    return process;
}

TEST(Interleaved, TakesTheNullCallOffAndBatchesShortCalls)
{
    auto fast = armTaking(10'000);
    auto slow = armTaking(5'000'000);
    TimingPlan plan;
    plan.seed = 3;
    const auto samples =
        timeInterleaved({{"fast", &fast, {0, 1}}, {"slow", &slow, {0, 1}}}, plan, -1);
    ASSERT_TRUE(samples);
    ASSERT_GE(samples->samplesUs[0].size(), 8u);
    EXPECT_EQ(samples->samplesUs[0].size(), samples->samplesUs[1].size());
    for (const double us : samples->samplesUs[0]) {
        EXPECT_NEAR(us, 10, 1e-9);
    }
    for (const double us : samples->samplesUs[1]) {
        EXPECT_NEAR(us, 5000, 1e-9);
    }
    EXPECT_EQ(fast.last->integer(FieldTag::Int), 500) << "5 ms of 10 us calls";
    EXPECT_EQ(slow.last->integer(FieldTag::Int), 1);
    EXPECT_EQ(samples->discarded[0], 3);
}

TEST(Interleaved, SingleCallsRotateOverTheSets)
{
    std::set<std::int64_t> first;
    FakeArmProcess* self = nullptr;
    FakeArmProcess process([&](ArmMessage asked) {
        if (asked == ArmMessage::Time) {
            first.insert(self->last->integers(FieldTag::Ints)->front());
            return ArmWriter(ArmMessage::Timed).floats(FieldTag::Floats, {0});
        }
        return ArmWriter(ArmMessage::Ok);
    });
    self = &process;
    process.roundTripNs = [](FakeArmProcess&) { return std::int64_t{9'000'000}; };
    TimingPlan plan;
    plan.maxRounds = 8;
    const auto samples = timeInterleaved({{"a", &process, {4, 5, 6}}}, plan, -1);
    ASSERT_TRUE(samples);
    EXPECT_EQ(first, (std::set<std::int64_t>{4, 5, 6}));
}

TEST(Interleaved, TwinsGetTheSameNumberOfCalls)
{
    auto one = armTaking(10'000);
    auto other = armTaking(40'000);
    const std::vector<TimedArm> arms{{"one", &one, {0}, 2, -1}, {"other", &other, {0}, 2, 0}};
    ASSERT_TRUE(timeInterleaved(arms, {}, -1));
    EXPECT_EQ(one.last->integer(FieldTag::Int), 500);
    EXPECT_EQ(other.last->integer(FieldTag::Int), 500);
}

TEST(Interleaved, SaysWhichArmFailed)
{
    auto good = armTaking(1'000'000);
    FakeArmProcess bad([](ArmMessage asked) {
        return asked == ArmMessage::Time
                   ? ArmWriter(ArmMessage::Failed).text(FieldTag::Text2, "broken")
                   : ArmWriter(ArmMessage::Ok);
    });
    const auto samples = timeInterleaved({{"good", &good, {0}}, {"bad", &bad, {0}}}, {}, -1);
    ASSERT_FALSE(samples);
    EXPECT_EQ(samples.error().arm, 1u);
    EXPECT_EQ(samples.error().error.message, "broken");
}

TEST(Interleaved, RepeatsSamplesInWhichTheDeviceStarved)
{
    int asked = 0;
    FakeArmProcess process([&](ArmMessage message) {
        // Every second sample waited for its host and reads ten times the time.
        const bool starved = message == ArmMessage::Time && ++asked % 2 == 0;
        return message == ArmMessage::Time
                   ? ArmWriter(ArmMessage::Timed)
                         .floats(FieldTag::Floats, {1.0, starved ? 0.1 : 0.01, starved ? 1.0 : 0.0})
                   : ArmWriter(ArmMessage::Ok);
    });
    process.roundTripNs = [](FakeArmProcess&) { return std::int64_t{20'000'000}; };
    TimingPlan plan;
    plan.deviceEvents = true;
    plan.leadSeconds = 0;
    plan.maxRounds = 8;
    const auto samples = timeInterleaved({{"a", &process, {0}}}, plan, -1);
    ASSERT_TRUE(samples);
    ASSERT_EQ(samples->samplesUs[0].size(), 8u);
    for (const double us : samples->samplesUs[0]) {
        EXPECT_NEAR(us, 10'000, 1e-6);
    }
    EXPECT_GE(samples->discarded[0], 8) << "one of two";
}

/// A child that only waits, killed at the end of its life.
class Sleeper
{
public:
    Sleeper()
        : m_pid(::fork())
    {
        if (m_pid == 0) {
            ::pause();
            ::_exit(0);
        }
    }
    ~Sleeper()
    {
        ::kill(m_pid, SIGKILL);
        ::waitpid(m_pid, nullptr, 0);
    }
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;
    [[nodiscard]] LiveProcess live(std::uint64_t startTicks) const
    {
        return {m_pid, startTicks, UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, m_pid, 0)))};
    }
    /// Waits for the kernel to say that it stands still, which a stop soon makes true.
    [[nodiscard]] bool stopped() const
    {
        int status = 0;
        return ::waitpid(m_pid, &status, WUNTRACED) == m_pid && WIFSTOPPED(status);
    }

private:
    pid_t m_pid;
};

TEST(OneAtATime, TellsProcessesApartByNumberAndStart)
{
    const Sleeper first;
    const Sleeper second;
    FakeArmProcess arm([](ArmMessage) { return ArmWriter(ArmMessage::Ok); });
    int step = 0;
    arm.live = [&] {
        std::vector<LiveProcess> now;
        if (step != 1) {
            now.push_back(first.live(step == 3 ? 8 : 7));
        }
        if (step > 0) {
            now.push_back(second.live(9));
        }
        return now;
    };
    OneAtATime turns({&arm});
    EXPECT_TRUE(first.stopped());
    EXPECT_EQ(turns.refresh(0), 0u);
    step = 1; // as many as before, but another one
    EXPECT_EQ(turns.refresh(0), 1u);
    EXPECT_TRUE(second.stopped());
    step = 2; // one that was known once and left is new when it comes again
    EXPECT_EQ(turns.refresh(0), 1u);
    step = 3; // the same number, started at another time
    EXPECT_EQ(turns.refresh(0), 1u);
    EXPECT_EQ(turns.refresh(0), 0u);
}

TEST(TimingRow, SummarisesSamples)
{
    const auto row = timingRow("eager", "v", {}, {1, 2, 3, 4, 5}, 2);
    EXPECT_EQ(row.samples, 5);
    EXPECT_EQ(row.medianUs, 3);
    EXPECT_DOUBLE_EQ(row.p10Us, 1.4);
    EXPECT_EQ(row.protocol, "warm");
}

TEST(DeviceLock, IsHeldByOneAtATime)
{
    const auto folder =
        std::filesystem::temp_directory_path() / ("lathe-lock-test-" + std::to_string(getpid()));
    {
        auto first = DeviceLock::acquire(folder, "cpu", 1, -1, {});
        ASSERT_TRUE(first);
        std::string holder;
        const auto second = DeviceLock::acquire(
            folder, "cpu", 0, -1, [&](const std::string& text) { holder = text; });
        ASSERT_FALSE(second);
        EXPECT_EQ(second.error().code, ErrorCode::Timeout);
        EXPECT_EQ(holder, "lathe-worker " + std::to_string(getpid()));
        EXPECT_TRUE(DeviceLock::acquire(folder, "cuda:0", 0, -1, {}));
    }
    EXPECT_TRUE(DeviceLock::acquire(folder, "cpu", 0, -1, {}));
    std::filesystem::remove_all(folder);
}

} // namespace
