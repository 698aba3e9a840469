// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/worker/arm_host.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lathe::worker {

/// Where the wall time of a request went.
struct Ledger
{
    double compilerSeconds = 0;
    double armSeconds = 0;
    double samplingSeconds = 0;
};

/// Adds the wall time of its life to one entry of the ledger.
class Stopwatch
{
public:
    explicit Stopwatch(double& seconds);
    ~Stopwatch();
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

private:
    double& m_seconds;
    std::int64_t m_startedNs;
};

/// A request on its way to an arm.
struct ArmCall
{
    ArmProcess* process = nullptr;
    protocol::ArmWriter request;
    std::vector<int> fds;
    double timeoutSeconds = 0;
};

/// A reply that has to be of the expected type. A Failed reply becomes a Refused error: its
/// sentence with the place in the file, its traceback as the detail.
Result<void> expectReply(const ArmReply& reply, protocol::ArmMessage expected);

/// A sequence of arm calls that runs either to its end (waiting, cancellable) or step by step in
/// the background (never waiting for an arm's answer). Steps are made when their turn comes, so
/// they can use what earlier ones found.
class CallScript
{
public:
    /// What a step begins with: nothing to wait for, not ready to begin, or a call.
    struct Begun
    {
        bool later = false;
        std::optional<ArmCall> call;
    };
    using Begin = std::function<Result<Begun>(bool wait, int cancelFd)>;
    using Finish = std::function<Result<void>(ArmReply& reply)>;

    void add(std::string what, Begin begin, Finish finish = {});
    /// True when every step is done. An error ends the script; a Cancelled error leaves it where it
    /// is, to be resumed.
    Result<bool> advance(bool wait, int cancelFd, Ledger& ledger);
    [[nodiscard]] bool done() const { return m_steps.empty(); }
    /// What the current step does, for a person.
    [[nodiscard]] std::string what() const;
    void clear();

private:
    struct Step
    {
        std::string what;
        Begin begin;
        Finish finish;
    };
    Result<bool> step(bool wait, int cancelFd, Ledger& ledger);

    std::deque<Step> m_steps;
    ArmProcess* m_waitingFor = nullptr;
    std::int64_t m_deadlineNs = 0;
};

} // namespace lathe::worker
