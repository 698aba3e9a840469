// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tl/expected.hpp>

#include <string>
#include <utility>

namespace lathe {

/// What kind of failure an Error is. A failed compile or a wrong output is not an error but a
/// value.
enum class ErrorCode {
    InvalidArgument, ///< the caller's input is unusable (command line, task.json, ...)
    NotFound,
    Io,       ///< a file, disk or pipe failed
    Parse,    ///< bytes that are not what they claim to be
    Protocol, ///< a peer broke its protocol or went away
    Timeout,
    Cancelled,
    Unsupported, ///< this machine cannot do it (tool, sandbox, device)
    Refused,     ///< the task or the machine cannot be judged
    Network,
    Internal,
};

/// A failure: what happened, in one sentence that says what to do, and the raw detail beneath it.
struct Error
{
    ErrorCode code = ErrorCode::Internal;
    std::string message;
    std::string detail; ///< log text, errno, traceback; may be empty
};

template <class T>
using Result = tl::expected<T, Error>;

/// Shorthand for returning a failure from a function that returns Result.
inline tl::unexpected<Error> fail(ErrorCode code, std::string message, std::string detail = {})
{
    return tl::unexpected<Error>(Error{code, std::move(message), std::move(detail)});
}

/// The field's name of the code, as written to JSON ("invalid_argument", "timeout", ...).
const char* toString(ErrorCode code);

} // namespace lathe
