// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lathe::agent {

/// What a tool gives back to the model and to the log.
struct ToolResult
{
    std::string status = "ok"; ///< the short word replays are compared by: "ok", "failed",
                               ///< "build_failed", "wrong", ...
    bool success = true;
    std::string headJson = "{}"; ///< key numbers, an object's text
    std::string text;            ///< the whole text; the model sees its head and tail
    std::string candidate;       ///< CandidateId it made or judged, or empty
};

inline ToolResult toolFailure(std::string text)
{
    return {"failed", false, "{}", std::move(text), {}};
}

} // namespace lathe::agent
