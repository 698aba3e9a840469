// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/files.h>
#include <lathe/profile/trace.h>

namespace lathe::profile {

Result<Trace> readTraceFile(const std::string& path)
{
    constexpr std::uint64_t kMaxBytes = 4ull << 30; // what the JSON parser can index
    auto bytes = readFile(path, kMaxBytes);
    if (!bytes)
        return tl::unexpected(bytes.error());
    if (bytes->starts_with("\x1f\x8b")) {
        return fail(ErrorCode::Unsupported,
                    path + " is compressed: unpack it first (gunzip -k " + path + ").");
    }
    auto trace = bytes->starts_with("LTRC") ? parseNativeTrace(*bytes) : parseChromeTrace(*bytes);
    if (!trace)
        return fail(trace.error().code, path + ": " + trace.error().message, trace.error().detail);
    return trace;
}

} // namespace lathe::profile
