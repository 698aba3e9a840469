// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/protocol/types.h>
#include <lathe/worker/builder.h>

#include <filesystem>
#include <string>
#include <vector>

namespace lathe::worker {

/// What the compilers said and made.
struct CompileResult
{
    bool ok = false;
    std::string reason; ///< when not ok and the log does not say it: timeout, killed
    std::string log;
};

/// Everything a compilation needs beside the sandbox.
struct CompileJob
{
    const BuilderSettings* settings = nullptr;
    std::filesystem::path sources;  ///< host folder, mounted read-only
    std::filesystem::path output;   ///< host folder, writable inside; gets kernels.so
    std::vector<std::string> files; ///< relative paths of the translation units
    std::vector<std::string> flags; ///< the candidate's own
    bool cuda = false;
    std::vector<std::string> include;          ///< before the candidate's flags
    std::vector<std::string> link;             ///< behind the objects
    std::vector<std::filesystem::path> mounts; ///< seen read-only at the same place
    std::string library;  ///< empty: kernels.so, whose symbols must all be there
    std::string standard; ///< empty: the compiler driver's own choice
};

/// Compiles the translation units side by side and links kernels.so, all in sandboxes. An error
/// means that the machine could not; a failed compilation is a result.
Result<CompileResult> compile(const Sandbox& sandbox, const CompileJob& job, int cancelFd);

} // namespace lathe::worker
