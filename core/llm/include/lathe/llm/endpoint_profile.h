// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/llm/chat_decoder.h>
#include <lathe/llm/transport.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::llm {

/// US dollars per million tokens.
struct PriceTable
{
    double prompt = 0;
    double cachedPrompt = 0;
    double completion = 0;
};

/// Where and how a model is reached, as written in endpoints.json. Holds no key: only the
/// variable's name.
struct EndpointProfile
{
    std::string name;
    std::string title;   ///< for people; the name when empty
    std::string baseUrl; ///< up to and without "/chat/completions"
    std::string model;
    std::string keyEnv;     ///< environment variable that holds the key; empty: none is sent
    bool plainHttp = false; ///< the key may go over http to another machine (a trusted network)
    std::string dialect = "openai-chat";
    std::string maxTokensField =
        "max_completion_tokens"; ///< or "max_tokens"; empty: the limit is not sent
    std::int64_t maxOutputTokens = 16384;
    std::int64_t contextTokens = 131072;
    bool streamOptions = true; ///< ask for usage in the stream
    std::optional<PriceTable> price;
    std::vector<HttpHeader> headers; ///< nothing secret
    std::string origin =
        "model"; ///< "scripted" for a server that plays a script; copied into recordings
    double connectSeconds = 20;
    double idleSeconds = 300;     ///< without a byte
    double progressSeconds = 600; ///< with keep-alives only
};

/// Whether a URL's host ("localhost", "127.0.0.1", "[::1]") is this machine: a name or a numeric
/// address of 127.0.0.0/8 or ::1. No other name is: "127.example.org" is somebody else's.
bool isLoopbackHost(const std::string& host);

/// All profiles of a file; NotFound when there is none; a faulty entry is an error that names it.
Result<std::vector<EndpointProfile>> readProfiles(const std::filesystem::path& file);
Result<std::vector<EndpointProfile>> parseProfiles(std::string_view json);

/// configFolder()/endpoints.json.
std::filesystem::path profilesFile();

/// The key from the profile's environment variable; empty when the profile needs none;
/// InvalidArgument when it is unset.
Result<std::string> keyOf(const EndpointProfile& profile);

/// US dollars of one request; absent when the price is unknown.
std::optional<double> costOf(const EndpointProfile& profile, const Usage& usage);

} // namespace lathe::llm
