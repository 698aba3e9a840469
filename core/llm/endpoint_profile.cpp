// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/files.h>
#include <lathe/base/json.h>
#include <lathe/llm/endpoint_profile.h>

#include <nlohmann/json.hpp>

#include <arpa/inet.h>
#include <cstdlib>

namespace lathe::llm {
namespace {

using Json = nlohmann::json;

/// Of "http://host:port/path"; brackets of an IPv6 address stay.
std::string hostOf(const std::string& url)
{
    const auto begin = url.find("://") + 3;
    std::string host = url.substr(begin, url.find_first_of("/?#", begin) - begin);
    const auto afterAddress = host.starts_with('[') ? host.find(']') : 0;
    if (const auto port = host.find(':', afterAddress == std::string::npos ? 0 : afterAddress);
        port != std::string::npos) {
        host.resize(port);
    }
    return host;
}

Result<EndpointProfile> parseProfile(const Json& json, std::size_t position)
{
    EndpointProfile p;
    p.name = stringOr(json, "name");
    const std::string where =
        p.name.empty() ? "endpoint " + std::to_string(position + 1) : "endpoint \"" + p.name + "\"";
    if (p.name.empty() || p.name.starts_with("replay:")) {
        return fail(ErrorCode::InvalidArgument,
                    where + " needs a \"name\" that does not start with \"replay:\"");
    }
    p.title = stringOr(json, "title", p.name);
    p.baseUrl = stringOr(json, "baseUrl");
    while (p.baseUrl.ends_with('/')) {
        p.baseUrl.pop_back();
    }
    if (!p.baseUrl.starts_with("http://") && !p.baseUrl.starts_with("https://")) {
        return fail(ErrorCode::InvalidArgument,
                    where + " needs a \"baseUrl\" that starts with http:// or https://");
    }
    if (p.baseUrl.find('@') != std::string::npos) {
        return fail(ErrorCode::InvalidArgument,
                    where + ": a name or password in baseUrl is refused; use \"keyEnv\"");
    }
    p.model = stringOr(json, "model");
    p.keyEnv = stringOr(json, "keyEnv");
    p.plainHttp = boolOr(json, "plainHttp", p.plainHttp);
    if (!p.keyEnv.empty() && !p.plainHttp && p.baseUrl.starts_with("http://")
        && !isLoopbackHost(hostOf(p.baseUrl))) {
        return fail(ErrorCode::InvalidArgument,
                    where
                        + " would send its key unencrypted; use https, or say \"plainHttp\": true "
                          "where the network is trusted");
    }
    if (json.contains("key") || json.contains("apiKey")) {
        return fail(
            ErrorCode::InvalidArgument,
            where
                + " holds a key; put it into an environment variable and name that in \"keyEnv\"");
    }
    p.dialect = stringOr(json, "dialect", p.dialect);
    if (p.dialect != "openai-chat") {
        return fail(ErrorCode::Unsupported,
                    where + ": dialect \"" + p.dialect
                        + "\" is not known; there is \"openai-chat\"");
    }
    p.maxTokensField = stringOr(json, "maxTokensField", p.maxTokensField);
    p.maxOutputTokens = intOr(json, "maxOutputTokens", p.maxOutputTokens);
    p.contextTokens = intOr(json, "contextTokens", p.contextTokens);
    p.streamOptions = boolOr(json, "streamOptions", p.streamOptions);
    p.origin = stringOr(json, "origin", p.origin);
    p.connectSeconds = numberOr(json, "connectSeconds", p.connectSeconds);
    p.idleSeconds = numberOr(json, "idleSeconds", p.idleSeconds);
    p.progressSeconds = numberOr(json, "progressSeconds", p.progressSeconds);
    if (const auto it = json.find("price"); it != json.end() && it->is_object()) {
        PriceTable price;
        price.prompt = numberOr(*it, "prompt", 0);
        price.cachedPrompt = numberOr(*it, "cachedPrompt", price.prompt);
        price.completion = numberOr(*it, "completion", 0);
        p.price = price;
    }
    if (const auto it = json.find("headers"); it != json.end() && it->is_object()) {
        for (const auto& [name, value] : it->items()) {
            if (value.is_string()) {
                p.headers.push_back({name, value.get<std::string>()});
            }
        }
    }
    return p;
}

} // namespace

bool isLoopbackHost(const std::string& host)
{
    in_addr address{};
    return host == "localhost" || host == "[::1]"
           || (::inet_pton(AF_INET, host.c_str(), &address) == 1
               && (ntohl(address.s_addr) >> 24) == 127);
}

Result<std::vector<EndpointProfile>> parseProfiles(std::string_view text)
{
    auto json = parseJson(text);
    if (!json) {
        return tl::unexpected(json.error());
    }
    const Json& list =
        json->is_object() && json->contains("endpoints") ? (*json)["endpoints"] : *json;
    if (!list.is_array()) {
        return fail(ErrorCode::Parse,
                    "endpoints.json must be a list of endpoints or an object with \"endpoints\"");
    }
    std::vector<EndpointProfile> profiles;
    for (const auto& entry : list) {
        auto profile = parseProfile(entry, profiles.size());
        if (!profile) {
            return tl::unexpected(profile.error());
        }
        profiles.push_back(std::move(*profile));
    }
    return profiles;
}

Result<std::vector<EndpointProfile>> readProfiles(const std::filesystem::path& file)
{
    auto text = readFile(file, 1u << 20);
    if (!text) {
        return tl::unexpected(text.error());
    }
    auto profiles = parseProfiles(*text);
    if (!profiles) {
        return fail(profiles.error().code,
                    file.string() + ": " + profiles.error().message,
                    profiles.error().detail);
    }
    return profiles;
}

std::filesystem::path profilesFile()
{
    return configFolder() / "endpoints.json";
}

Result<std::string> keyOf(const EndpointProfile& profile)
{
    if (profile.keyEnv.empty()) {
        return std::string();
    }
    const char* value = std::getenv(profile.keyEnv.c_str()); // NOLINT(concurrency-mt-unsafe)
    if (value == nullptr || value[0] == '\0') {
        return fail(ErrorCode::InvalidArgument,
                    "no key: set the environment variable " + profile.keyEnv
                        + " for the endpoint \"" + profile.name + "\"");
    }
    std::string key = value;
    if (key.find_first_of("\r\n") != std::string::npos) {
        return fail(ErrorCode::InvalidArgument,
                    "the key in " + profile.keyEnv + " holds a line break");
    }
    return key;
}

std::optional<double> costOf(const EndpointProfile& profile, const Usage& usage)
{
    if (usage.cost) {
        return usage.cost;
    }
    if (!profile.price) {
        return std::nullopt;
    }
    const auto cached = static_cast<double>(usage.cachedTokens);
    const double fresh = static_cast<double>(usage.promptTokens) - cached;
    return (fresh * profile.price->prompt + cached * profile.price->cachedPrompt
            + static_cast<double>(usage.completionTokens) * profile.price->completion)
           / 1e6;
}

} // namespace lathe::llm
