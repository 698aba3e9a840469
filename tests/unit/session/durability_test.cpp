// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "store_fixture.h"

#include <chrono>
#include <csignal>
#include <random>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace lathe::session {
namespace {

using protocol::Tier;
using protocol::Verdict;

class DurabilityTest : public StoreFixture
{
protected:
    /// In a child process: adds candidates and evaluations without end and tells of each one that
    /// is finished.
    [[noreturn]] void writeForEver(int pipe)
    {
        auto store = Store::open(m_folder / "ws");
        for (int i = 0; store; ++i) {
            const auto row = (*store)->addCandidate(
                draft(m_task, "text " + std::to_string(i) + std::string(5000, 'x')), {});
            if (!row) {
                break;
            }
            auto result = evaluated(row->id, Tier::Full, Verdict::Correct, 1 + i);
            result.log += std::to_string(i);
            if (!(*store)->addEvaluation(result, m_task, "h")) {
                break;
            }
            const std::string line = row->id.text() + "\n";
            if (::write(pipe, line.data(), line.size()) < 0) {
                break;
            }
        }
        ::_exit(1);
    }
};

/// A program killed at any moment loses nothing that it had reported as finished and leaves nothing
/// half-written.
TEST_F(DurabilityTest, SigkillAtRandomMoments)
{
    m_store.reset();
    std::mt19937 random(7);
    std::size_t finished = 0;
    for (int round = 0; round < 12; ++round) {
        int pipe[2];
        ASSERT_EQ(::pipe(pipe), 0);
        const pid_t child = ::fork();
        if (child == 0) {
            ::close(pipe[0]);
            writeForEver(pipe[1]);
        }
        ::close(pipe[1]);
        // It is killed a random moment after a random number of finished ones: never before it did
        // anything, whatever the machine's load.
        std::string told;
        const std::size_t wanted = 37 * (1 + random() % 3);
        char buffer[4096];
        while (told.size() < wanted) {
            const ssize_t n = ::read(pipe[0], buffer, sizeof buffer);
            ASSERT_GT(n, 0) << "the writer failed";
            told.append(buffer, static_cast<std::size_t>(n));
        }
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 30000));
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
        for (ssize_t n = 0; (n = ::read(pipe[0], buffer, sizeof buffer)) > 0;) {
            told.append(buffer, static_cast<std::size_t>(n));
        }
        ::close(pipe[0]);

        auto store = Store::open(m_folder / "ws");
        ASSERT_TRUE(store) << store.error().message;
        for (std::size_t at = 0; at + 37 <= told.size(); at += 37) {
            const CandidateId id(told.substr(at, 36));
            const auto kept = (*store)->evaluations(id);
            ASSERT_TRUE(kept && kept->size() == 1) << "a finished evaluation is lost";
            ++finished;
        }
        const auto rows = (*store)->candidates(m_task);
        ASSERT_TRUE(rows);
        for (const auto& row : *rows) {
            ASSERT_TRUE((*store)->source(row.id)) << "a candidate is half-written";
            const auto evaluations = (*store)->evaluations(row.id);
            ASSERT_TRUE(evaluations);
            for (const auto& kept : *evaluations) {
                const auto loaded = (*store)->loadEvaluation(kept);
                ASSERT_TRUE(loaded) << loaded.error().message;
                ASSERT_EQ(loaded->traces.size(), 1u);
            }
        }
    }
    EXPECT_GT(finished, 0u);
}

/// Two programs that write at once both succeed, and numbers stay unique.
TEST_F(DurabilityTest, TwoProcessesWriteAtOnce)
{
    m_store.reset();
    constexpr int kEach = 15;
    std::vector<pid_t> children;
    for (int process = 0; process < 2; ++process) {
        const pid_t child = ::fork();
        if (child == 0) {
            auto store = Store::open(m_folder / "ws");
            for (int i = 0; store && i < kEach; ++i) {
                if (!(*store)->addCandidate(draft(m_task, std::to_string(process * 100 + i)), {})) {
                    ::_exit(1);
                }
            }
            ::_exit(store ? 0 : 1);
        }
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = 0;
        ::waitpid(child, &status, 0);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    auto store = *Store::open(m_folder / "ws");
    const auto rows = store->candidates(m_task);
    ASSERT_EQ(rows->size(), 2u * kEach);
    for (int i = 0; i < 2 * kEach; ++i) {
        EXPECT_EQ((*rows)[static_cast<std::size_t>(i)].number, i + 1);
    }
}

} // namespace
} // namespace lathe::session
