// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace lathe {

/// Parses one JSON text; a failure names the byte offset. Depth is limited to 200.
Result<nlohmann::json> parseJson(std::string_view text);
Result<nlohmann::ordered_json> parseOrderedJson(std::string_view text);

/// Serialises; never throws: invalid UTF-8 is replaced by U+FFFD. indent < 0 gives one line.
std::string dumpJson(const nlohmann::json& value, int indent = -1);
std::string dumpJson(const nlohmann::ordered_json& value, int indent = -1);

/// Member access that never throws: absent, null or wrongly typed members give the fallback.
std::string
stringOr(const nlohmann::json& object, std::string_view key, std::string_view fallback = {});
std::int64_t intOr(const nlohmann::json& object, std::string_view key, std::int64_t fallback);
double numberOr(const nlohmann::json& object, std::string_view key, double fallback);
bool boolOr(const nlohmann::json& object, std::string_view key, bool fallback);

} // namespace lathe
