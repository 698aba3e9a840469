// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/llm/retry_policy.h>

#include <gtest/gtest.h>

namespace lathe::llm {
namespace {

HttpHead head(int status, std::vector<HttpHeader> headers = {})
{
    return {status, std::move(headers)};
}

TEST(RetryPolicy, WhatIsRetried)
{
    for (const int status : {408, 409, 429, 500, 502, 503, 529}) {
        EXPECT_TRUE(classify(head(status), {}).retryable) << status;
    }
    for (const int status : {400, 401, 402, 403, 404, 413, 422}) {
        EXPECT_FALSE(classify(head(status), {}).retryable) << status;
    }
    EXPECT_FALSE(
        classify(head(429), {"You exceeded your current quota", "insufficient_quota", "", 0})
            .retryable);
    EXPECT_FALSE(classify(head(500, {{"X-Should-Retry", "false"}}), {}).retryable);
    EXPECT_TRUE(classify(head(400, {{"x-should-retry", "true"}}), {}).retryable);
    EXPECT_TRUE(classify(head(200), {"", "529", "", 529}).retryable);
    EXPECT_TRUE(classify(Error{ErrorCode::Network, "reset", ""}).retryable);
    EXPECT_FALSE(classify(Error{ErrorCode::InvalidArgument, "redirect", ""}).retryable);
}

TEST(RetryPolicy, ContextOverflowInItsForms)
{
    for (const char* text : {"This model's maximum context length is 8192 tokens.",
                             "the request exceeds the available context size",
                             "prompt is too long: 210000 tokens > 200000 maximum"}) {
        EXPECT_EQ(classify(head(400), {text, "", "", 0}).kind, ModelFailure::Kind::ContextOverflow)
            << text;
    }
    EXPECT_EQ(classify(head(400), {"x", "context_length_exceeded", "", 0}).kind,
              ModelFailure::Kind::ContextOverflow);
    EXPECT_NE(classify(head(400), {"unknown parameter", "", "", 0}).kind,
              ModelFailure::Kind::ContextOverflow);
}

TEST(RetryPolicy, RetryAfterInItsForms)
{
    // RFC 9110 section 5.6.7 gives this date as 784111777 seconds after the epoch
    EXPECT_EQ(
        retryAfter(head(429, {{"Retry-After", "Sun, 06 Nov 1994 08:49:37 GMT"}}), 784111777 - 5),
        5.0);
    EXPECT_EQ(retryAfter(head(429, {{"Retry-After", "1.5"}}), 0), 1.5);
    EXPECT_EQ(retryAfter(head(429, {{"Retry-After", "9"}, {"retry-after-ms", "250"}}), 0), 0.25);
    EXPECT_FALSE(retryAfter(head(429, {{"Retry-After", "soon"}}), 0));
    EXPECT_FALSE(retryAfter(head(429), 0));
}

TEST(RetryPolicy, DelaysDoubleWithJitter)
{
    RetryPolicy policy; // 0.5 s doubling, at least half of it
    ModelFailure failure;
    failure.retryable = true;
    EXPECT_DOUBLE_EQ(*policy.delay(failure, 1, 0.0), 0.25);
    EXPECT_DOUBLE_EQ(*policy.delay(failure, 3, 0.5), 1.5);
    policy.maxAttempts = 20;
    EXPECT_DOUBLE_EQ(*policy.delay(failure, 15, 0.0), 15.0);
    EXPECT_FALSE(policy.delay(failure, 20, 0.0));
    failure.retryAfterSeconds = 60;
    EXPECT_DOUBLE_EQ(*policy.delay(failure, 1, 0.3), 60);
    failure.retryAfterSeconds = 121;
    EXPECT_FALSE(policy.delay(failure, 1, 0.3));
    failure.retryable = false;
    failure.retryAfterSeconds = 1;
    EXPECT_FALSE(policy.delay(failure, 1, 0.3));
}

} // namespace
} // namespace lathe::llm
