// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/base/unique_fd.h>

#include <filesystem>
#include <functional>
#include <string>

namespace lathe::worker {

/// The machine-wide lock of one device (flock on a file in the lock folder), held while a worker
/// measures on it. Destruction releases it; so does the end of the process.
class DeviceLock
{
public:
    /// Waits for the lock, looking every 20 ms. onWait is called once, with the holder's text, when
    /// it is taken by another worker. Errors: Cancelled, Timeout, Io.
    static Result<DeviceLock> acquire(const std::filesystem::path& folder,
                                      const std::string& device,
                                      double timeoutSeconds,
                                      int cancelFd,
                                      const std::function<void(const std::string& holder)>& onWait);

private:
    explicit DeviceLock(UniqueFd file)
        : m_file(std::move(file))
    {}
    UniqueFd m_file;
};

} // namespace lathe::worker
