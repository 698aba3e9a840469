// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
// The stream of frames: however the bytes are cut, the same frames and the same end; a frame that
// was read is written as the bytes it was read from.
#include "fuzz.h"

#include <lathe/protocol/frame.h>

#include <string>
#include <vector>

namespace {

using namespace lathe;
using protocol::Frame;

struct Outcome
{
    std::vector<Frame> frames;
    std::string error;
    std::size_t left = 0;
};

Outcome decode(std::string_view bytes, std::size_t step)
{
    Outcome out;
    protocol::FrameDecoder decoder;
    while (out.error.empty() && !bytes.empty()) {
        decoder.feed(bytes.substr(0, step));
        bytes.remove_prefix(std::min(step, bytes.size()));
        for (;;) {
            Frame frame;
            const auto complete = decoder.next(frame);
            if (!complete) {
                out.error = complete.error().message;
                break;
            }
            if (!*complete) {
                break;
            }
            out.frames.push_back(std::move(frame));
        }
    }
    out.left = decoder.buffered();
    return out;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const std::string_view bytes = fuzz::textOf(data, size);
    const Outcome whole = decode(bytes, size + 1);
    const Outcome pieces = decode(bytes, 1 + size / 7);
    fuzz::require(whole.frames.size() == pieces.frames.size(),
                  "as many frames however they are cut");
    fuzz::require(whole.error == pieces.error, "the same error however they are cut");
    std::string again;
    for (std::size_t i = 0; i < whole.frames.size(); ++i) {
        const auto one = protocol::encodeFrame(whole.frames[i]);
        const auto other = protocol::encodeFrame(pieces.frames[i]);
        fuzz::require(one && other && *one == *other, "a frame that was read can be written");
        again += *one;
    }
    fuzz::require(bytes.starts_with(again), "what was read is what was written");
    fuzz::require(!whole.error.empty() || again.size() + whole.left == size, "no byte is lost");
    return 0;
}
