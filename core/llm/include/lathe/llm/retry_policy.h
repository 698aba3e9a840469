// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/llm/chat_decoder.h>
#include <lathe/llm/transport.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace lathe::llm {

/// Why a model request failed, and whether asking again can help.
struct ModelFailure
{
    enum class Kind : std::uint8_t {
        Network,
        Http,
        RateLimit,
        Quota,
        Key,
        ContextOverflow,
        Protocol,
        Cancelled
    };
    Kind kind = Kind::Network;
    std::string message; ///< one sentence that says what to do
    std::string detail;
    int status = 0;
    bool retryable = false;
    std::optional<double> retryAfterSeconds; ///< what the server asked for
};

/// From a response whose status is not 200, or an error object inside a stream with 200.
ModelFailure classify(const HttpHead& head, const StreamError& error);
ModelFailure classify(const Error& transportError);
/// From an answer without an end.
ModelFailure incomplete(const std::string& message);

/// Retry-After in seconds: "retry-after-ms", then "retry-after" as a number or an HTTP date
/// (nowUnix: seconds).
std::optional<double> retryAfter(const HttpHead& head, std::int64_t nowUnix);

struct RetryPolicy
{
    int maxAttempts = 6;
    double baseSeconds = 0.5;
    double capSeconds = 30;
    double longestWaitSeconds = 120; ///< a longer Retry-After is shown to the user instead
    /// Seconds to wait before attempt number attempt + 1 (attempt counts from 1), random in [0, 1);
    /// absent: give up.
    [[nodiscard]] std::optional<double>
    delay(const ModelFailure& failure, int attempt, double random) const;
};

} // namespace lathe::llm
