// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/text.h>
#include <lathe/llm/retry_policy.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <ctime>

namespace lathe::llm {
namespace {

std::string lower(std::string_view text)
{
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) {
        return static_cast<char>(std::tolower(c));
    });
    return out;
}

bool containsAny(const std::string& text, std::initializer_list<std::string_view> needles)
{
    return std::any_of(needles.begin(), needles.end(), [&](std::string_view n) {
        return text.find(n) != std::string::npos;
    });
}

/// The wordings of OpenAI, Azure, vLLM, llama.cpp, Ollama, OpenRouter and others for the same
/// thing.
bool isContextOverflow(const std::string& text)
{
    return containsAny(text,
                       {"context_length_exceeded",
                        "maximum context length",
                        "context length exceeded",
                        "exceeds the available context size",
                        "exceed_context_size",
                        "prompt is too long",
                        "context window",
                        "too many tokens",
                        "input is too long",
                        "model_context_window_exceeded"});
}

std::optional<double> number(std::string_view text)
{
    double value = 0;
    const auto t = trimmed(text);
    const auto [end, error] = std::from_chars(t.data(), t.data() + t.size(), value);
    if (error != std::errc{} || end != t.data() + t.size() || !std::isfinite(value) || value < 0) {
        return std::nullopt;
    }
    return value;
}

} // namespace

std::optional<double> retryAfter(const HttpHead& head, std::int64_t nowUnix)
{
    if (const auto ms = number(head.value("retry-after-ms"))) {
        return *ms / 1000;
    }
    const std::string value = head.value("retry-after");
    if (value.empty()) {
        return std::nullopt;
    }
    if (const auto seconds = number(value)) {
        return seconds;
    }
    std::tm time = {};
    if (::strptime(value.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &time) != nullptr) {
        return std::max(0.0, static_cast<double>(::timegm(&time) - nowUnix));
    }
    return std::nullopt;
}

ModelFailure classify(const HttpHead& head, const StreamError& error)
{
    ModelFailure f;
    f.status = head.status == 200 && error.status != 0 ? error.status : head.status;
    f.detail = error.message;
    f.retryAfterSeconds = retryAfter(head, std::time(nullptr));
    const std::string all = lower(error.message + " " + error.code + " " + error.type);
    const std::string said =
        error.message.empty() ? "no explanation" : headAndTail(error.message, 500);
    if (isContextOverflow(all)) {
        f.kind = ModelFailure::Kind::ContextOverflow;
        f.message = "the conversation no longer fits the model's context: " + said;
        return f;
    }
    if (f.status == 401 || f.status == 403) {
        f.kind = ModelFailure::Kind::Key;
        f.message = "the endpoint refused the key (HTTP " + std::to_string(f.status) + "): " + said;
        return f;
    }
    if (containsAny(all, {"insufficient_quota", "billing_hard_limit", "insufficient credits"})
        || f.status == 402) {
        f.kind = ModelFailure::Kind::Quota;
        f.message = "the account behind the key has no quota left: " + said;
        return f;
    }
    const bool limited = f.status == 429 || containsAny(all, {"rate_limit", "rate limit"});
    const bool overloaded = containsAny(
        all,
        {"overloaded", "server_error", "internal error", "temporarily unavailable", "try again"});
    f.kind = limited ? ModelFailure::Kind::RateLimit : ModelFailure::Kind::Http;
    f.retryable = limited || overloaded || f.status == 408 || f.status == 409 || f.status >= 500;
    if (const auto should = lower(head.value("x-should-retry"));
        should == "true" || should == "false") {
        f.retryable = should == "true";
    }
    f.message = limited ? "the endpoint asks to slow down: " + said
                        : "the endpoint answered with an error"
                              + (f.status != 200 ? " (HTTP " + std::to_string(f.status) + ")"
                                                 : std::string())
                              + ": " + said;
    return f;
}

ModelFailure classify(const Error& transportError)
{
    ModelFailure f;
    f.kind = transportError.code == ErrorCode::Cancelled ? ModelFailure::Kind::Cancelled
                                                         : ModelFailure::Kind::Network;
    f.message = transportError.message;
    f.detail = transportError.detail;
    f.retryable =
        transportError.code == ErrorCode::Network || transportError.code == ErrorCode::Timeout;
    return f;
}

ModelFailure incomplete(const std::string& message)
{
    ModelFailure f;
    f.kind = ModelFailure::Kind::Protocol;
    f.message = message;
    f.status = 200;
    f.retryable = true;
    return f;
}

std::optional<double>
RetryPolicy::delay(const ModelFailure& failure, int attempt, double random) const
{
    if (!failure.retryable || attempt >= maxAttempts) {
        return std::nullopt;
    }
    if (failure.retryAfterSeconds) {
        if (*failure.retryAfterSeconds > longestWaitSeconds) {
            return std::nullopt;
        }
        return *failure.retryAfterSeconds;
    }
    const double full = std::min(capSeconds, baseSeconds * std::ldexp(1.0, attempt - 1));
    return full * (0.5 + 0.5 * random); // at least half, so that a crowd spreads out without
                                        // anybody hammering
}

} // namespace lathe::llm
