// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/files.h>
#include <lathe/session/paths.h>

#include <cstdlib>
#include <unistd.h>

namespace lathe::session {

Result<std::vector<std::string>> findWorkerCommand()
{
    const char* variable = std::getenv("LATHE_WORKER"); // NOLINT(concurrency-mt-unsafe)
    if (variable != nullptr && variable[0] != '\0') {
        if (::access(variable, X_OK) == 0) {
            return std::vector<std::string>{variable, "serve"};
        }
        return std::vector<std::string>{"/bin/sh", "-c", std::string("exec ") + variable};
    }
    const auto folder = executableFolder();
    for (const auto& place :
         {folder / "lathe-worker", folder.parent_path() / "libexec/lathe/lathe-worker"}) {
        if (::access(place.c_str(), X_OK) == 0) {
            return std::vector<std::string>{place.string(), "serve"};
        }
    }
    return fail(ErrorCode::NotFound,
                "no lathe-worker in " + folder.string()
                    + " or ../libexec/lathe; set LATHE_WORKER to the program");
}

std::filesystem::path resourceFolder()
{
    const char* variable = std::getenv("LATHE_RESOURCES"); // NOLINT(concurrency-mt-unsafe)
    if (variable != nullptr && variable[0] != '\0') {
        return variable;
    }
    std::error_code error;
    const auto installed = executableFolder().parent_path() / "share/lathe/resources";
    return std::filesystem::is_directory(installed, error)
               ? installed
               : std::filesystem::path(LATHE_SOURCE_RESOURCES);
}

} // namespace lathe::session
