// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/base/unique_fd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace lathe::worker {

/// The end of one process's output: everything is read, the last 64 KiB are kept. Safe from two
/// threads.
class OutputTail
{
public:
    static constexpr std::size_t kKeepBytes = 64u << 10;
    explicit OutputTail(UniqueFd readEnd);
    /// Reads what is there, without waiting; false once the writers are gone.
    bool drain();
    /// What was kept, as valid UTF-8; then forgets it.
    std::string take();
    [[nodiscard]] int fd() const;

private:
    mutable std::mutex m_mutex;
    UniqueFd m_fd;
    std::string m_tail;
};

/// One thread that keeps reading the output of all processes of an arm, so that a flood neither
/// blocks them nor fills memory while the evaluation thread does something else.
class OutputDrain
{
public:
    OutputDrain();
    ~OutputDrain();
    OutputDrain(const OutputDrain&) = delete;
    OutputDrain& operator=(const OutputDrain&) = delete;
    /// A pipe whose write end goes to the process.
    struct Pipe
    {
        std::shared_ptr<OutputTail> tail;
        UniqueFd writeEnd;
    };
    Result<Pipe> open();

private:
    void run();
    void wake() const;
    std::mutex m_mutex;
    std::vector<std::shared_ptr<OutputTail>> m_tails;
    UniqueFd m_wake;
    std::atomic<bool> m_stop{false};
    std::thread m_thread;
};

} // namespace lathe::worker
