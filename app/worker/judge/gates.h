// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration.h"
#include "comparator.h"

#include <lathe/protocol/messages.h>
#include <lathe/worker/judge.h>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lathe::worker {

/// A number for JSON: NaN and infinities as words.
nlohmann::json measure(double value);

/// {maxAbs, maxRel, relRmse, floor, normLimit, elementLimit, worst {output, index, expected, got}}.
std::string numericsDetail(const Deviation& deviation,
                           const Calibration::Limits& limits,
                           const protocol::TensorInfo& info,
                           std::size_t output);

/// Row-major position of a flat index.
std::vector<std::int64_t> unravel(std::int64_t index, const std::vector<std::int64_t>& shape);

/// Says every gate once, in the order they first ran, however many variants went through it: with
/// one variant at once, with several when they all are through; a failure always at once.
class GateBoard
{
public:
    GateBoard(const EventSink& sink, bool severalVariants);
    void pass(const std::string& gate,
              const std::string& variant,
              std::string reason,
              std::string detail = "{}");
    void warn(const std::string& gate,
              const std::string& variant,
              std::string reason,
              std::string detail = "{}");
    void skip(const std::string& gate, std::string reason);
    /// Ends it: what was held back is sent, then the failure, then the rest of `gates` as skipped.
    void fail(const std::string& gate,
              const std::string& variant,
              std::string reason,
              std::string detail,
              const std::vector<std::string>& rest);
    /// Sends what was held back.
    void flush();

private:
    struct Entry
    {
        std::string name;
        protocol::GateStatus status;
        std::string reason;
        std::string detail;
        int variants = 0;
    };
    void add(const std::string& gate,
             protocol::GateStatus status,
             std::string reason,
             std::string detail);
    void send(const Entry& entry);

    const EventSink& m_sink;
    bool m_several;
    std::vector<Entry> m_held;
};

} // namespace lathe::worker
