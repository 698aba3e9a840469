// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "model_server/model_script.h"

#include <lathe/base/files.h>
#include <lathe/base/json.h>

namespace lathe::testing {
namespace {

using Json = nlohmann::ordered_json;

Result<void> insertFiles(Json& value, const std::filesystem::path& folder)
{
    if (value.is_object() && value.contains("$file") && value["$file"].is_string()) {
        auto text = readFile(folder / value["$file"].get<std::string>());
        if (!text) {
            return tl::unexpected(text.error());
        }
        value = std::move(*text);
        return {};
    }
    if (value.is_structured()) {
        for (auto& element : value) {
            if (auto done = insertFiles(element, folder); !done) {
                return done;
            }
        }
    }
    return {};
}

std::string text(const Json& json, const char* key, std::string fallback = {})
{
    return json.contains(key) && json[key].is_string() ? json[key].get<std::string>()
                                                       : std::move(fallback);
}

/// Pieces of about size bytes that end at character boundaries.
std::vector<std::string> pieces(const std::string& whole, std::size_t size)
{
    std::vector<std::string> out;
    for (std::size_t from = 0; from < whole.size();) {
        std::size_t to = std::min(from + std::max<std::size_t>(size, 1), whole.size());
        while (to < whole.size() && (static_cast<unsigned char>(whole[to]) & 0xC0u) == 0x80u) {
            ++to;
        }
        out.push_back(whole.substr(from, to - from));
        from = to;
    }
    return out;
}

} // namespace

std::vector<std::string> ModelScript::events(std::size_t turn, std::size_t requestBytes) const
{
    std::vector<std::string> out;
    const auto add = [&](const Json& delta, const Json& finish) {
        const Json chunk = {
            {"id", "chatcmpl-" + std::to_string(turn)},
            {"object", "chat.completion.chunk"},
            {"model", model},
            {"choices",
             Json::array({Json{{"index", 0}, {"delta", delta}, {"finish_reason", finish}}})}};
        out.push_back("data: " + dumpJson(chunk));
    };
    const ScriptedTurn& t = turns.at(turn - 1);
    std::size_t produced = 0;
    add({{"role", "assistant"}, {"content", ""}}, nullptr);
    for (const auto& piece : pieces(t.reasoning, chunkCharacters)) {
        add({{"reasoning_content", piece}}, nullptr);
        produced += piece.size();
    }
    for (const auto& piece : pieces(t.text, chunkCharacters)) {
        add({{"content", piece}}, nullptr);
        produced += piece.size();
    }
    for (std::size_t i = 0; i < t.calls.size(); ++i) {
        const auto& call = t.calls[i];
        add({{"tool_calls",
              Json::array({Json{{"index", i},
                                {"id", call.id},
                                {"type", "function"},
                                {"function", {{"name", call.name}, {"arguments", ""}}}}})}},
            nullptr);
        for (const auto& piece : pieces(call.arguments, chunkCharacters)) {
            add({{"tool_calls",
                  Json::array({Json{{"index", i}, {"function", {{"arguments", piece}}}}})}},
                nullptr);
            produced += piece.size();
        }
    }
    add(Json::object(),
        t.finishReason.empty() ? (t.calls.empty() ? "stop" : "tool_calls") : t.finishReason);
    const std::size_t prompt = requestBytes / 4;
    const std::size_t completion = produced / 4 + 1;
    out.push_back("data: "
                  + dumpJson(Json{{"id", "chatcmpl-" + std::to_string(turn)},
                                  {"object", "chat.completion.chunk"},
                                  {"model", model},
                                  {"choices", Json::array()},
                                  {"usage",
                                   {{"prompt_tokens", prompt},
                                    {"completion_tokens", completion},
                                    {"total_tokens", prompt + completion}}}}));
    out.emplace_back("data: [DONE]");
    return out;
}

Result<ModelScript> parseScript(const Json& json, const std::filesystem::path& folder)
{
    ModelScript script;
    script.title = text(json, "title");
    script.model = text(json, "model", script.model);
    script.chunkCharacters = json.value("chunkCharacters", script.chunkCharacters);
    script.eventDelayMs = json.value("eventDelayMs", script.eventDelayMs);
    script.keepAlives = json.value("keepAlives", false);
    for (const auto& entry : json.value("turns", Json::array())) {
        ScriptedTurn turn;
        turn.reasoning = text(entry, "reasoning");
        turn.text = text(entry, "text");
        turn.finishReason = text(entry, "finishReason");
        for (const auto& c : entry.value("calls", Json::array())) {
            ScriptedCall call;
            call.name = text(c, "name");
            call.id = text(c,
                           "id",
                           "call_" + std::to_string(script.turns.size() + 1) + "_"
                               + std::to_string(turn.calls.size() + 1));
            Json arguments = c.value("arguments", Json::object());
            if (arguments.is_string()) {
                call.arguments = arguments.get<std::string>();
            } else {
                if (auto done = insertFiles(arguments, folder); !done) {
                    return tl::unexpected(done.error());
                }
                call.arguments = dumpJson(arguments);
            }
            turn.calls.push_back(std::move(call));
        }
        for (const auto& f : entry.value("faults", Json::array())) {
            turn.faults.push_back({text(f, "kind"),
                                   f.value("status", 500),
                                   text(f, "body"),
                                   text(f, "header"),
                                   f.value("after", std::size_t{0})});
        }
        script.turns.push_back(std::move(turn));
    }
    return script;
}

Result<ModelScript> readScript(const std::filesystem::path& file)
{
    const auto bytes = readFile(file);
    if (!bytes) {
        return tl::unexpected(bytes.error());
    }
    const auto json = parseOrderedJson(*bytes);
    if (!json) {
        return fail(
            ErrorCode::Parse, file.string() + ": " + json.error().message, json.error().detail);
    }
    return parseScript(*json, file.parent_path());
}

} // namespace lathe::testing
