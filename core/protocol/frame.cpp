// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "little_endian.h"

#include <lathe/protocol/frame.h>

#include <cstdint>

namespace lathe::protocol {
namespace {

bool knownType(std::uint16_t type)
{
    return type >= static_cast<std::uint16_t>(FrameType::Hello)
           && type <= static_cast<std::uint16_t>(FrameType::Shutdown);
}

} // namespace

Result<std::string> encodeFrame(const Frame& frame)
{
    if (frame.json.size() > kMaxJsonBytes) {
        return fail(ErrorCode::InvalidArgument,
                    "a frame's JSON is " + std::to_string(frame.json.size())
                        + " bytes, over the limit of 1 MiB");
    }
    if (frame.attachments.size() > kMaxAttachments) {
        return fail(ErrorCode::InvalidArgument,
                    "a frame has " + std::to_string(frame.attachments.size())
                        + " attachments, over the limit of " + std::to_string(kMaxAttachments));
    }
    std::uint64_t total = kFrameHeaderBytes + frame.json.size();
    for (const std::string& attachment : frame.attachments) {
        if (attachment.size() > kMaxAttachmentBytes) {
            return fail(ErrorCode::InvalidArgument,
                        "an attachment is " + std::to_string(attachment.size())
                            + " bytes, over the limit of 256 MiB");
        }
        total += 8 + attachment.size();
    }
    if (total > kMaxFrameBytes) {
        return fail(ErrorCode::InvalidArgument,
                    "a frame is " + std::to_string(total) + " bytes, over the limit of 512 MiB");
    }
    std::string out;
    out.reserve(total);
    putU32(out, static_cast<std::uint32_t>(frame.json.size()));
    putU16(out, static_cast<std::uint16_t>(frame.type));
    putU16(out, static_cast<std::uint16_t>(frame.attachments.size()));
    putU64(out, frame.request);
    out += frame.json;
    for (const std::string& attachment : frame.attachments) {
        putU64(out, attachment.size());
        out += attachment;
    }
    return out;
}

Result<bool> FrameDecoder::next(Frame& frame)
{
    const auto broken = [this](std::string message) {
        m_failed = true;
        m_buffer.clear();
        m_offset = 0;
        return fail(ErrorCode::Protocol, std::move(message));
    };
    if (m_failed) {
        return broken("the stream was broken before");
    }
    const std::string_view bytes = std::string_view(m_buffer).substr(m_offset);
    if (bytes.size() < kFrameHeaderBytes) {
        return false;
    }
    const std::uint32_t jsonBytes = getU32(bytes, 0);
    const std::uint16_t type = getU16(bytes, 4);
    const std::uint16_t attachments = getU16(bytes, 6);
    if (!knownType(type)) {
        return broken("unknown frame type " + std::to_string(type));
    }
    if (jsonBytes > kMaxJsonBytes) {
        return broken("a frame announces " + std::to_string(jsonBytes)
                      + " bytes of JSON, over the limit of 1 MiB");
    }
    if (attachments > kMaxAttachments) {
        return broken("a frame announces " + std::to_string(attachments) + " attachments");
    }
    // Lengths are checked as soon as they are here, so that a lie is found before its bytes are
    // waited for.
    std::uint64_t position = kFrameHeaderBytes + jsonBytes;
    for (std::uint16_t i = 0; i < attachments; ++i) {
        if (bytes.size() < position + 8) {
            return false;
        }
        const std::uint64_t length = getU64(bytes, position);
        if (length > kMaxAttachmentBytes || position + 8 + length > kMaxFrameBytes) {
            return broken("a frame announces an attachment of " + std::to_string(length)
                          + " bytes, over the limit");
        }
        position += 8 + length;
    }
    if (bytes.size() < position) {
        return false;
    }
    frame.type = static_cast<FrameType>(type);
    frame.request = getU64(bytes, 8);
    frame.json.assign(bytes.substr(kFrameHeaderBytes, jsonBytes));
    frame.attachments.clear();
    frame.attachments.reserve(attachments);
    std::uint64_t at = kFrameHeaderBytes + jsonBytes;
    for (std::uint16_t i = 0; i < attachments; ++i) {
        const std::uint64_t length = getU64(bytes, at);
        frame.attachments.emplace_back(bytes.substr(at + 8, length));
        at += 8 + length;
    }
    m_offset += position;
    if (m_offset == m_buffer.size()) {
        m_buffer.clear();
        m_offset = 0;
    } else if (m_offset > m_buffer.size() / 2) {
        m_buffer.erase(0, m_offset);
        m_offset = 0;
    }
    return true;
}

} // namespace lathe::protocol
