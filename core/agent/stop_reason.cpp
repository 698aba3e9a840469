// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/agent/stop_reason.h>

namespace lathe::agent {

const char* toString(StopReason reason)
{
    switch (reason) {
    case StopReason::Submitted:
        return "submitted";
    case StopReason::TurnLimit:
        return "turn_limit";
    case StopReason::TokenLimit:
        return "token_limit";
    case StopReason::ContextExhausted:
        return "context_exhausted";
    case StopReason::CostLimit:
        return "cost_limit";
    case StopReason::TimeLimit:
        return "time_limit";
    case StopReason::Stuck:
        return "stuck";
    case StopReason::RepeatedFormatErrors:
        return "repeated_format_errors";
    case StopReason::Refusal:
        return "refusal";
    case StopReason::ProviderError:
        return "provider_error";
    case StopReason::Cancelled:
        return "cancelled";
    case StopReason::Crashed:
        break;
    }
    return "crashed";
}

bool measuresLastCandidate(StopReason reason)
{
    switch (reason) {
    case StopReason::Submitted:
    case StopReason::Cancelled:
    case StopReason::Crashed:
        return false;
    default:
        return true;
    }
}

} // namespace lathe::agent
