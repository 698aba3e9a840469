// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
// A recorded timeline, Chrome's JSON or Lathe's own columns: sums stay inside the trace, and what
// is written reads the same.
#include "fuzz.h"

#include <lathe/profile/trace.h>

#include <string>

namespace {

using namespace lathe;
using profile::Trace;

void examine(const Trace& trace)
{
    for (const auto& lane : trace.lanes) {
        for (std::size_t i = 0; i < lane.size(); ++i) {
            fuzz::require(lane.startNs[i] >= 0 && lane.durationNs[i] >= 0,
                          "no span begins before the trace or runs backwards");
            fuzz::require(lane.startNs[i] + lane.durationNs[i] <= trace.spanNs,
                          "no span ends after the trace");
            fuzz::require(lane.nameId[i] < trace.names.size(), "every span has a name");
            fuzz::require(i == 0 || lane.startNs[i - 1] <= lane.startNs[i], "spans are in order");
        }
    }
    for (const auto category : {profile::SpanCategory::Operator, profile::SpanCategory::Kernel}) {
        const auto busy = trace.busyNs(category);
        fuzz::require(busy >= 0 && busy <= trace.spanNs, "busy time fits into the trace");
    }
    (void)trace.summarise(0, trace.spanNs);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const std::string_view bytes = fuzz::textOf(data, size);
    const auto trace = bytes.starts_with("LTRC") ? profile::parseNativeTrace(bytes)
                                                 : profile::parseChromeTrace(bytes);
    if (!trace) {
        return 0;
    }
    examine(*trace);
    const std::string columns = profile::toNativeTrace(*trace);
    const auto again = profile::parseNativeTrace(columns);
    fuzz::require(again.has_value(), "Lathe's own file can be read");
    fuzz::require(profile::toNativeTrace(*again) == columns, "Lathe's own file reads the same");
    const auto chrome = profile::parseChromeTrace(profile::toChromeTrace(*trace));
    fuzz::require(chrome.has_value(), "Chrome's JSON can be read again");
    fuzz::require(chrome->events() == trace->events(), "no span is lost on the way");
    examine(*chrome);
    return 0;
}
