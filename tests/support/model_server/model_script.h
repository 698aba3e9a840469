// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace lathe::testing {

/// Something that goes wrong with one attempt at a turn; the attempt after the last fault is
/// answered properly.
struct Fault
{
    std::string kind;      ///< "http", "cut", "error_in_stream", "html", "stall", "redirect"
    int status = 500;      ///< http, redirect
    std::string body;      ///< http: the body; error_in_stream: the message
    std::string header;    ///< http, redirect: one more header line
    std::size_t after = 0; ///< cut, stall, error_in_stream: events sent before
};

struct ScriptedCall
{
    std::string id;
    std::string name;
    std::string arguments; ///< exactly as sent, possibly malformed
};

struct ScriptedTurn
{
    std::string reasoning;
    std::string text;
    std::vector<ScriptedCall> calls;
    std::string finishReason;
    std::vector<Fault> faults;
};

/// What the server says, turn by turn.
struct ModelScript
{
    std::string title;
    std::string model = "scripted";
    std::size_t chunkCharacters = 24; ///< of text and arguments in one event
    double eventDelayMs = 0;
    bool keepAlives = false; ///< a comment before every event
    std::vector<ScriptedTurn> turns;

    /// The server-sent events of one turn, without the blank lines.
    [[nodiscard]] std::vector<std::string> events(std::size_t turn, std::size_t requestBytes) const;
};

/// Reads a script; {"$file": "NAME"} anywhere in a call's arguments stands for that file's text,
/// beside the script.
Result<ModelScript> readScript(const std::filesystem::path& file);
Result<ModelScript> parseScript(const nlohmann::ordered_json& json,
                                const std::filesystem::path& folder);

} // namespace lathe::testing
