// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lathe::agent {

/// Why a run ended; always shown.
enum class StopReason : std::uint8_t {
    Submitted,
    TurnLimit,
    TokenLimit,
    ContextExhausted,
    CostLimit,
    TimeLimit,
    Stuck,
    RepeatedFormatErrors,
    Refusal,
    ProviderError,
    Cancelled,
    Crashed,
};
const char* toString(StopReason reason); ///< "submitted", "turn_limit", ...

/// True for the reasons that leave the last candidate worth one more measurement.
bool measuresLastCandidate(StopReason reason);

} // namespace lathe::agent
