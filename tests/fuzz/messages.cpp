// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
// The messages inside frames. The first byte picks the kind (q request, x exec, e event, d done, f
// failure, h hello), then the JSON up to a NUL, then attachments, a NUL after each. What was read
// once is written and read the same for ever.
#include "fuzz.h"

#include <lathe/protocol/messages.h>

#include <string>
#include <vector>

namespace {

using namespace lathe;
using protocol::Frame;
using protocol::FrameType;

Frame frameOf(FrameType type, std::string_view rest)
{
    Frame frame{type, 7, {}, {}};
    const auto end = std::min(rest.find('\0'), rest.size());
    frame.json = std::string(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    while (!rest.empty() && frame.attachments.size() < 64) {
        const auto stop = std::min(rest.find('\0'), rest.size());
        frame.attachments.emplace_back(rest.substr(0, stop));
        rest.remove_prefix(std::min(stop + 1, rest.size()));
    }
    return frame;
}

bool same(const Frame& a, const Frame& b)
{
    return a.type == b.type && a.json == b.json && a.attachments == b.attachments;
}

/// Reads, writes, reads, writes: both writings must agree.
template <class Decode, class Encode>
void settle(Frame frame, const Decode& decode, const Encode& encode)
{
    const auto first = decode(frame);
    if (!first) {
        return;
    }
    const Frame written = encode(*first);
    Frame copy = written;
    const auto second = decode(copy);
    fuzz::require(second.has_value(), "what was written can be read");
    fuzz::require(same(written, encode(*second)), "reading and writing settle");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size == 0) {
        return 0;
    }
    const std::string_view rest = fuzz::textOf(data, size).substr(1);
    switch (data[0]) {
    case 'q':
        settle(frameOf(FrameType::Request, rest),
               protocol::decodeEvaluateRequest,
               [](const auto& value) { return protocol::encodeRequest(7, value); });
        break;
    case 'x':
        settle(frameOf(FrameType::Request, rest),
               protocol::decodeExecRequest,
               [](const auto& value) { return protocol::encodeRequest(7, value); });
        (void)protocol::requestMethod(frameOf(FrameType::Request, rest));
        break;
    case 'e':
        settle(frameOf(FrameType::Event, rest), protocol::decodeEvent, [](const auto& value) {
            return protocol::encodeEvent(7, value);
        });
        break;
    case 'd':
        settle(frameOf(FrameType::Done, rest), protocol::decodeDone, [](const auto& value) {
            return protocol::encodeDone(7, value);
        });
        break;
    case 'f':
        (void)protocol::decodeFailure(frameOf(FrameType::Failure, rest));
        break;
    case 'h':
        settle(frameOf(FrameType::Hello, rest), protocol::decodeHello, [](const auto& value) {
            return protocol::encodeHello(value);
        });
        break;
    default:
        break;
    }
    return 0;
}
