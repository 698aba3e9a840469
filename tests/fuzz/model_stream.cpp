// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
// The answer of a model's endpoint, from bytes to one turn: however the bytes are cut, the same
// turn or the same refusal.
#include "fuzz.h"

#include <lathe/base/json.h>
#include <lathe/llm/stream_reader.h>
#include <lathe/llm/turn_assembler.h>

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace {

using namespace lathe;

std::string read(std::string_view bytes, std::size_t step)
{
    llm::StreamReader reader;
    llm::TurnAssembler assembler;
    std::vector<llm::Delta> deltas;
    while (!bytes.empty()) {
        reader.feed(bytes.substr(0, step), deltas);
        bytes.remove_prefix(std::min(step, bytes.size()));
    }
    reader.finish(deltas);
    for (const auto& delta : deltas) {
        assembler.apply(delta);
    }
    std::string out = reader.model();
    if (assembler.error()) {
        out += "|error " + assembler.error()->message + assembler.error()->code;
    }
    const auto turn = assembler.finish();
    if (!turn) {
        return out + "|refused " + turn.error().message;
    }
    fuzz::require(parseJson(turn->messageJson).has_value(),
                  "the message that is sent back is JSON");
    out += "|" + turn->text + "|" + turn->reasoning + "|" + turn->refusal + "|" + turn->finishReason
           + "|" + turn->veto;
    for (const auto& call : turn->calls) {
        const auto arguments = parseJson(call.argumentsJson);
        fuzz::require(arguments.has_value() && arguments->is_object(),
                      "a call's arguments are an object");
        out += "|" + call.id + "|" + call.name + "|" + call.argumentsJson + "|" + call.malformed;
    }
    return out;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const std::string_view bytes = fuzz::textOf(data, size);
    const std::string whole = read(bytes, size + 1);
    fuzz::require(whole == read(bytes, 1), "the same turn byte by byte");
    fuzz::require(whole == read(bytes, 1 + size / 3), "the same turn in three pieces");
    return 0;
}
