// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "gates.h"

#include <lathe/base/json.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace lathe::worker {

using protocol::GateStatus;

nlohmann::json measure(double value)
{
    if (std::isnan(value)) {
        return "NaN";
    }
    if (std::isinf(value)) {
        return value > 0 ? "Infinity" : "-Infinity";
    }
    return value;
}

std::vector<std::int64_t> unravel(std::int64_t index, const std::vector<std::int64_t>& shape)
{
    std::vector<std::int64_t> out(shape.size(), 0);
    for (std::size_t d = shape.size(); d-- > 0 && index >= 0;) {
        if (shape[d] > 0) {
            out[d] = index % shape[d];
            index /= shape[d];
        }
    }
    return out;
}

std::string numericsDetail(const Deviation& deviation,
                           const Calibration::Limits& limits,
                           const protocol::TensorInfo& info,
                           std::size_t output)
{
    nlohmann::json json{{"maxAbs", measure(deviation.maxAbs)},
                        {"maxRel", measure(deviation.maxRel)},
                        {"relRmse", measure(deviation.relRmse)},
                        {"floor", measure(limits.floor)},
                        {"normLimit", measure(limits.norm)},
                        {"elementLimit", measure(limits.element)},
                        {"mismatches", deviation.mismatches},
                        {"elements", deviation.elements}};
    if (deviation.worstIndex >= 0) {
        json["worst"] = {{"output", output},
                         {"index", unravel(deviation.worstIndex, info.shape)},
                         {"expected", measure(deviation.expected)},
                         {"got", measure(deviation.got)}};
    }
    return dumpJson(json);
}

GateBoard::GateBoard(const EventSink& sink, bool severalVariants)
    : m_sink(sink)
    , m_several(severalVariants)
{}

void GateBoard::send(const Entry& entry)
{
    std::string reason = entry.reason;
    if (entry.variants > 1) {
        reason += " (" + std::to_string(entry.variants) + " variants)";
    }
    m_sink(protocol::GateEvent{{entry.name, entry.status, reason, entry.detail}});
}

void GateBoard::add(const std::string& gate,
                    GateStatus status,
                    std::string reason,
                    std::string detail)
{
    const auto known = std::find_if(
        m_held.begin(), m_held.end(), [&](const Entry& entry) { return entry.name == gate; });
    if (known == m_held.end()) {
        const Entry entry{gate, status, std::move(reason), std::move(detail), 1};
        if (m_several) {
            m_held.push_back(entry);
        } else {
            send(entry);
        }
        return;
    }
    ++known->variants;
    // The first variant is the headline: its figures stay, unless another one has something to say.
    if (status == GateStatus::Warn && known->status != GateStatus::Warn) {
        known->status = status;
        known->reason = std::move(reason);
        known->detail = std::move(detail);
    }
}

void GateBoard::pass(const std::string& gate,
                     const std::string&,
                     std::string reason,
                     std::string detail)
{
    add(gate, GateStatus::Pass, std::move(reason), std::move(detail));
}

void GateBoard::warn(const std::string& gate,
                     const std::string& variant,
                     std::string reason,
                     std::string detail)
{
    add(gate, GateStatus::Warn, m_several ? variant + ": " + reason : reason, std::move(detail));
}

void GateBoard::skip(const std::string& gate, std::string reason)
{
    add(gate, GateStatus::Skip, std::move(reason), "{}");
}

void GateBoard::flush()
{
    for (const Entry& entry : m_held) {
        send(entry);
    }
    m_held.clear();
}

void GateBoard::fail(const std::string& gate,
                     const std::string& variant,
                     std::string reason,
                     std::string detail,
                     const std::vector<std::string>& rest)
{
    // A gate that earlier variants passed and this one does not has failed; those after it never
    // came to an end.
    const auto from = std::find_if(
        m_held.begin(), m_held.end(), [&](const Entry& entry) { return entry.name == gate; });
    m_held.erase(from, m_held.end());
    flush();
    send({gate,
          GateStatus::Fail,
          m_several ? variant + ": " + reason : std::move(reason),
          std::move(detail),
          1});
    for (const std::string& name : rest) {
        send({name, GateStatus::Skip, "an earlier gate failed: " + gate, "{}", 1});
    }
}

} // namespace lathe::worker
