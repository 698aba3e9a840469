// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::protocol {

/// Frame types of the worker protocol (docs/protocol.md). An unknown type is an error; unknown JSON
/// fields are ignored.
enum class FrameType : std::uint16_t {
    Hello = 1,    ///< both sides first: version, capabilities
    Request = 2,  ///< core -> worker: {"method": ..., ...}
    Event = 3,    ///< worker -> core: a fragment of the answer ({"event": ...})
    Done = 4,     ///< worker -> core: the request ended; its summary
    Failure = 5,  ///< worker -> core: the request ended without an answer: {code, message, detail}
    Cancel = 6,   ///< core -> worker: end this request now
    Shutdown = 7, ///< core -> worker: end everything and exit
};

inline constexpr int kProtocolVersion = 1;
inline constexpr std::uint32_t kFrameHeaderBytes = 16;
inline constexpr std::uint32_t kMaxJsonBytes = 1u << 20;
inline constexpr std::uint64_t kMaxAttachmentBytes = 256ull << 20;
inline constexpr std::uint16_t kMaxAttachments = 4096;
inline constexpr std::uint64_t kMaxFrameBytes = 512ull
                                                << 20; ///< header, JSON and attachments together

/// One frame: header {u32 JSON bytes, u16 type, u16 attachment count, u64 request id},
/// little-endian, then the JSON, then per attachment a u64 length and its bytes.
struct Frame
{
    FrameType type = FrameType::Event;
    std::uint64_t request = 0; ///< 0 for Hello and Shutdown
    std::string json;
    std::vector<std::string> attachments;
};

/// The frame's bytes; an over-long JSON or attachment is an InvalidArgument error.
Result<std::string> encodeFrame(const Frame& frame);

/// Incremental decoder: feed bytes as they come, take frames as they complete. After an error it
/// stays failed.
class FrameDecoder
{
public:
    void feed(std::string_view bytes) { m_buffer.append(bytes); }
    /// True and fills frame when one is complete, false when more bytes are needed, an error on
    /// garbage.
    Result<bool> next(Frame& frame);
    [[nodiscard]] std::size_t buffered() const { return m_buffer.size() - m_offset; }

private:
    std::string m_buffer;
    std::size_t m_offset = 0;
    bool m_failed = false;
};

} // namespace lathe::protocol
