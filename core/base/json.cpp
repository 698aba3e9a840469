// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/json.h>

#include <nlohmann/json.hpp>

#include <cstdint>

namespace lathe {
namespace {

constexpr int kMaxDepth = 200;

template <class Json>
Result<Json> parseAs(std::string_view text)
{
    // A depth check first: the library's recursive destructor would overflow the stack on a hostile
    // text.
    int depth = 0;
    bool inString = false;
    bool escaped = false;
    for (const char c : text) {
        if (inString) {
            if (escaped) {
                escaped = false;
            } else if (c == '\\') {
                escaped = true;
            } else if (c == '"') {
                inString = false;
            }
        } else if (c == '"') {
            inString = true;
        } else if (c == '[' || c == '{') {
            if (++depth > kMaxDepth) {
                return fail(ErrorCode::Parse, "JSON is nested deeper than 200 levels");
            }
        } else if (c == ']' || c == '}') {
            --depth;
        }
    }
    try {
        return Json::parse(text);
    } catch (const std::exception& e) {
        return fail(ErrorCode::Parse, "not valid JSON", e.what());
    }
}

const nlohmann::json* member(const nlohmann::json& object, std::string_view key)
{
    if (!object.is_object()) {
        return nullptr;
    }
    const auto it = object.find(key);
    return it == object.end() ? nullptr : &*it;
}

} // namespace

Result<nlohmann::json> parseJson(std::string_view text)
{
    return parseAs<nlohmann::json>(text);
}

Result<nlohmann::ordered_json> parseOrderedJson(std::string_view text)
{
    return parseAs<nlohmann::ordered_json>(text);
}

std::string dumpJson(const nlohmann::json& value, int indent)
{
    return value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string dumpJson(const nlohmann::ordered_json& value, int indent)
{
    return value.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string stringOr(const nlohmann::json& object, std::string_view key, std::string_view fallback)
{
    const auto* m = member(object, key);
    return m != nullptr && m->is_string() ? m->get<std::string>() : std::string(fallback);
}

std::int64_t intOr(const nlohmann::json& object, std::string_view key, std::int64_t fallback)
{
    const auto* m = member(object, key);
    return m != nullptr && m->is_number_integer() ? m->get<std::int64_t>() : fallback;
}

double numberOr(const nlohmann::json& object, std::string_view key, double fallback)
{
    const auto* m = member(object, key);
    return m != nullptr && m->is_number() ? m->get<double>() : fallback;
}

bool boolOr(const nlohmann::json& object, std::string_view key, bool fallback)
{
    const auto* m = member(object, key);
    return m != nullptr && m->is_boolean() ? m->get<bool>() : fallback;
}

} // namespace lathe
