// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/protocol/arm_wire.h>

#include <string>

namespace lathe::arm {

/// Why a request could not be done: what the Failed message carries.
struct Failure
{
    std::string
        stage; ///< "import", "constants", "init", "load", "prepare", "forward", "contract", ...
    std::string sentence;
    std::string traceback;
    int line = 0; ///< 0: unknown
    std::string file;
};

template <class T>
using Outcome = tl::expected<T, Failure>;

inline tl::unexpected<Failure> failure(std::string stage, std::string sentence)
{
    return tl::unexpected<Failure>(Failure{std::move(stage), std::move(sentence), {}, 0, {}});
}

inline tl::unexpected<Failure> failure(std::string stage, const Error& error)
{
    return tl::unexpected<Failure>(Failure{std::move(stage), error.message, error.detail, 0, {}});
}

} // namespace lathe::arm
