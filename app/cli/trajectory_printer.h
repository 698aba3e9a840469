// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "terminal.h"

#include <lathe/agent/trajectory.h>

#include <string>

namespace lathe::cli {

/// Prints a run as it goes on: the model's words as they arrive on a terminal, whole items
/// elsewhere.
class TrajectoryPrinter
{
public:
    /// labelled: every line says whether it was recorded or happens live.
    explicit TrajectoryPrinter(bool labelled);
    void print(const agent::TrajectoryItem& item);

private:
    [[nodiscard]] std::string label(const agent::TrajectoryItem& item) const;
    void printPartial(const agent::TrajectoryItem& item);
    Terminal m_terminal;
    bool m_labelled;
    int m_step = -1;
    std::string m_kind;
    std::size_t m_printed = 0; ///< bytes of the partial item that are on screen
};

/// The item as one JSON object (documents and --progress ndjson).
std::string trajectoryJson(const agent::TrajectoryItem& item);

} // namespace lathe::cli
