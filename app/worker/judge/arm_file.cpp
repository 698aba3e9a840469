// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "arm_file.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace lathe::worker {

Result<std::string>
readArmFile(int fd, std::int64_t announced, std::uint64_t limitBytes, const std::string& what)
{
    struct stat status
    {};
    if (announced < 0 || static_cast<std::uint64_t>(announced) > limitBytes
        || ::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size < announced) {
        return fail(ErrorCode::Protocol, what + " is not what the arm announced");
    }
    std::string text(static_cast<std::size_t>(announced), '\0');
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t n =
            ::pread(fd, text.data() + done, text.size() - done, static_cast<off_t>(done));
        if (n <= 0) {
            return fail(ErrorCode::Protocol, what + " cannot be read", std::strerror(errno));
        }
        done += static_cast<std::size_t>(n);
    }
    return text;
}

} // namespace lathe::worker
