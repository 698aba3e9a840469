// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/json.h>
#include <lathe/base/text.h>
#include <lathe/llm/chat_decoder.h>

#include <nlohmann/json.hpp>

namespace lathe::llm {
namespace {

using Json = nlohmann::json;

Delta textDelta(Delta::Kind kind, std::string text)
{
    Delta delta;
    delta.kind = kind;
    delta.text = std::move(text);
    return delta;
}

Delta errorDelta(std::string message, std::string code = {}, std::string type = {}, int status = 0)
{
    Delta delta;
    delta.kind = Delta::Kind::Error;
    delta.error = {std::move(message), std::move(code), std::move(type), status};
    return delta;
}

Delta decodeError(const Json& error)
{
    if (error.is_string()) {
        return errorDelta(error.get<std::string>());
    }
    std::string code = stringOr(error, "code");
    int status = static_cast<int>(intOr(error, "status", 0));
    if (const auto number = intOr(error, "code", 0); number != 0) {
        code = std::to_string(number);
        status = number >= 400 && number < 600 ? static_cast<int>(number) : status;
    }
    std::string message = stringOr(error, "message");
    if (message.empty()) {
        message = headAndTail(dumpJson(error), 2000);
    }
    return errorDelta(std::move(message), std::move(code), stringOr(error, "type"), status);
}

/// Text of a content member: a string, or an array of parts.
std::string contentText(const Json& content)
{
    if (content.is_string()) {
        return content.get<std::string>();
    }
    std::string text;
    if (content.is_array()) {
        for (const auto& part : content) {
            text += part.is_string() ? part.get<std::string>() : stringOr(part, "text");
        }
    }
    return text;
}

ToolCallPiece decodeCall(const Json& call)
{
    ToolCallPiece piece;
    if (const auto it = call.find("index"); it != call.end() && it->is_number_integer()) {
        piece.index = it->get<std::int64_t>();
    }
    piece.id = stringOr(call, "id");
    if (const auto it = call.find("function"); it != call.end() && it->is_object()) {
        piece.name = stringOr(*it, "name");
        if (const auto arguments = it->find("arguments"); arguments != it->end()) {
            if (arguments->is_string()) {
                piece.arguments = arguments->get<std::string>();
            } else if (!arguments->is_null()) {
                piece.arguments = dumpJson(*arguments);
                piece.whole = true;
            }
        }
    }
    Json extra = Json::object();
    for (const auto& [key, value] : call.items()) {
        if (key != "index" && key != "id" && key != "type" && key != "function"
            && !value.is_null()) {
            extra[key] = value;
        }
    }
    if (!extra.empty()) {
        piece.extraJson = dumpJson(extra);
    }
    return piece;
}

void decodeMessage(const Json& message, std::vector<Delta>& out)
{
    if (!message.is_object()) {
        return;
    }
    Json extra = Json::object();
    std::string reasoning;
    for (const auto& [key, value] : message.items()) {
        if (value.is_null() || key == "role" || key == "content" || key == "tool_calls") {
            continue;
        }
        if (key == "refusal") {
            out.push_back(textDelta(Delta::Kind::Refusal, contentText(value)));
        } else if ((key == "reasoning_content" || key == "reasoning") && value.is_string()
                   && reasoning.empty()) {
            reasoning = value.get<std::string>(); // gateways send both names with the same text
        }
        extra[key] = value;
    }
    if (!reasoning.empty()) {
        out.push_back(textDelta(Delta::Kind::Reasoning, std::move(reasoning)));
    }
    if (!extra.empty()) {
        out.push_back(textDelta(Delta::Kind::Extra, dumpJson(extra)));
    }
    if (const auto it = message.find("content"); it != message.end()) {
        if (auto text = contentText(*it); !text.empty()) {
            out.push_back(textDelta(Delta::Kind::Text, std::move(text)));
        }
    }
    if (const auto it = message.find("tool_calls"); it != message.end() && it->is_array()) {
        for (const auto& call : *it) {
            if (call.is_object()) {
                Delta delta;
                delta.kind = Delta::Kind::ToolCall;
                delta.call = decodeCall(call);
                out.push_back(std::move(delta));
            }
        }
    }
}

void decodeUsage(const Json& object, std::vector<Delta>& out)
{
    const auto it = object.find("usage");
    if (it == object.end() || !it->is_object()) {
        return;
    }
    Delta delta;
    delta.kind = Delta::Kind::Usage;
    delta.usage.promptTokens = intOr(*it, "prompt_tokens", 0);
    delta.usage.completionTokens = intOr(*it, "completion_tokens", 0);
    if (const auto d = it->find("prompt_tokens_details"); d != it->end()) {
        delta.usage.cachedTokens = intOr(*d, "cached_tokens", 0);
    }
    if (const auto d = it->find("completion_tokens_details"); d != it->end()) {
        delta.usage.reasoningTokens = intOr(*d, "reasoning_tokens", 0);
    }
    if (const double cost = numberOr(*it, "cost", -1); cost >= 0) {
        delta.usage.cost = cost;
    }
    out.push_back(std::move(delta));
}

void decodeObject(const Json& object, const char* messageKey, std::vector<Delta>& out)
{
    if (!object.is_object()) {
        out.push_back(errorDelta("the stream holds JSON that is not an object"));
        return;
    }
    if (const auto it = object.find("error"); it != object.end() && !it->is_null()) {
        out.push_back(decodeError(*it));
        return;
    }
    const auto choices = object.find("choices");
    const bool hasChoices = choices != object.end() && choices->is_array();
    if (hasChoices && !choices->empty()) {
        const Json& choice = choices->front(); // we ask for one
        for (const char* key : {messageKey, "delta", "message"}) {
            if (const auto it = choice.is_object() ? choice.find(key) : choice.end();
                it != choice.end() && it->is_object()) {
                decodeMessage(*it, out);
                break;
            }
        }
        if (auto reason = stringOr(choice, "finish_reason"); !reason.empty()) {
            out.push_back(textDelta(Delta::Kind::Finish, std::move(reason)));
        }
    }
    decodeUsage(object, out);
    if (!hasChoices && !object.contains("usage")) {
        if (object.contains("message")
            || object.contains("detail")) { // error shapes of FastAPI and some gateways
            const auto& text = object.contains("message") ? object["message"] : object["detail"];
            out.push_back(errorDelta(
                text.is_string() ? text.get<std::string>() : headAndTail(dumpJson(text), 2000),
                stringOr(object, "code"),
                stringOr(object, "type"),
                static_cast<int>(intOr(object, "code", intOr(object, "status", 0)))));
        }
    }
}

} // namespace

void ChatDecoder::chunk(const Json& object, std::vector<Delta>& out)
{
    if (m_model.empty()) {
        m_model = stringOr(object, "model");
    }
    decodeObject(object, "delta", out);
}

void ChatDecoder::decode(std::string_view data, std::vector<Delta>& out)
{
    const std::string_view text = trimmed(data);
    if (text.empty()) {
        return;
    }
    if (text == "[DONE]") {
        Delta done;
        done.kind = Delta::Kind::Done;
        out.push_back(std::move(done));
        return;
    }
    if (auto object = parseJson(text)) {
        chunk(*object, out);
        return;
    }
    // Servers that forget the blank line between events give several payloads in one.
    const auto lines = splitLines(text);
    if (lines.size() > 1) {
        for (const auto& line : lines) {
            decode(line, out);
        }
        return;
    }
    out.push_back(errorDelta("the stream holds data that is not JSON: "
                             + headAndTail(toValidUtf8(text), 200)));
}

void ChatDecoder::decodeBody(std::string_view body, std::vector<Delta>& out)
{
    auto object = parseJson(body);
    if (!object) {
        out.push_back(errorDelta("the endpoint's answer is not valid JSON: "
                                 + headAndTail(toValidUtf8(body), 200)));
        return;
    }
    const Json& answer = object->is_array() && object->size() == 1 ? object->front() : *object;
    const auto before = out.size();
    decodeObject(answer, "message", out);
    if (out.size() == before) {
        out.push_back(errorDelta("the endpoint's answer holds no choices: "
                                 + headAndTail(dumpJson(answer), 200)));
    }
}

} // namespace lathe::llm
