// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profile/span.h"

#include <lathe/base/result.h>

#include <memory>
#include <string>
#include <vector>

namespace lathe::arm {

/// CUPTI's activity trace of this process: kernels, copies, fills and the calls that launched them,
/// in CLOCK_MONOTONIC. At most one at a time in a process (CUPTI's callbacks carry no user data).
/// Timing is off limits once it has run.
class CuptiTrace
{
public:
    /// Loads CUPTI (the one that torch brought, where there is one) and checks that its records are
    /// what this binary was built for. Unsupported otherwise.
    static Result<std::unique_ptr<CuptiTrace>> load();
    virtual ~CuptiTrace() = default;
    /// Subscribes and turns the records on. Refused when another subscriber is there: it could see
    /// or falsify ours.
    virtual Result<void> start() = 0;
    /// The spans since start(), sorted by start. An error when records were dropped or carry no
    /// time: half a trace is none. The caller has synchronised the device.
    virtual Result<std::vector<Span>> stop() = 0;
    /// "CUPTI 13.0 (API 130001)"
    [[nodiscard]] virtual std::string version() const = 0;
};

} // namespace lathe::arm
