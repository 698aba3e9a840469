// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/result.h>

namespace lathe {

const char* toString(ErrorCode code)
{
    switch (code) {
    case ErrorCode::InvalidArgument:
        return "invalid_argument";
    case ErrorCode::NotFound:
        return "not_found";
    case ErrorCode::Io:
        return "io";
    case ErrorCode::Parse:
        return "parse";
    case ErrorCode::Protocol:
        return "protocol";
    case ErrorCode::Timeout:
        return "timeout";
    case ErrorCode::Cancelled:
        return "cancelled";
    case ErrorCode::Unsupported:
        return "unsupported";
    case ErrorCode::Refused:
        return "refused";
    case ErrorCode::Network:
        return "network";
    case ErrorCode::Internal:
        return "internal";
    }
    return "internal";
}

} // namespace lathe
