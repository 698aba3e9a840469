// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/agent/tool_result.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace boost::asio {
class io_context;
}

namespace lathe::agent {

struct BashOptions
{
    std::string command;
    std::filesystem::path workdir;       ///< the only writable folder, seen as /work
    std::filesystem::path includeFolder; ///< shown read-only as /lathe/include; empty: not there
    double timeoutSeconds = 60;
    std::size_t maxOutputBytes = 256u << 10;
    std::string sandboxProgram = "bwrap";
};

/// One shell command in a bubblewrap sandbox: no network, no home, system folders read-only. Core
/// thread; destruction kills everything in it.
class BashTool
{
public:
    using Done = std::function<void(ToolResult)>;
    virtual ~BashTool() = default;
    /// done is called once from the event loop, never inside start(); not after destruction.
    static std::unique_ptr<BashTool>
    start(boost::asio::io_context& io, const BashOptions& options, Done done);
};

} // namespace lathe::agent
