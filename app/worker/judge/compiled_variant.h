// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference_variant.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace lathe::worker {

/// One torch.compile baseline of one variant: compiled in the background in a sandbox of its own,
/// so that it can be stopped while others are timed, and checked like a candidate before it counts.
class CompiledVariant
{
public:
    /// reference must be ready before advance() is called, and outlive this.
    CompiledVariant(ArmHost& host, ReferenceVariant& reference, std::string mode);

    /// Goes on; true once it is ready or has failed (see failure()). Only Cancelled is an error.
    Result<bool> advance(bool wait, int cancelFd, Ledger& ledger);
    [[nodiscard]] bool settled() const { return m_script.done(); }
    /// Working: it has a process that is not done.
    [[nodiscard]] bool busy() const { return m_process && !m_script.done(); }
    [[nodiscard]] bool ready() const { return m_script.done() && m_failure.empty() && m_process; }
    [[nodiscard]] const std::string& failure() const { return m_failure; }
    [[nodiscard]] std::string name() const { return "compile:" + m_mode; }
    [[nodiscard]] ArmProcess* process() { return m_process.get(); }
    /// Sets that were drawn anew since.
    Result<void> bindAll(int cancelFd, Ledger& ledger);
    void lose(std::string why);
    /// Its process is of no use any more: compiles again (from the cache) at the next advance().
    void restart();

private:
    void addSteps();
    Result<void> judge();

    ArmHost& m_host;
    ReferenceVariant& m_reference;
    std::string m_mode;
    CallScript m_script;
    std::string m_failure;
    std::unique_ptr<ArmProcess> m_process;
    std::map<std::int64_t, std::uint64_t> m_bound;
    Buffers m_outputs;
};

} // namespace lathe::worker
