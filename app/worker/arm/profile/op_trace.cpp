// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "profile/op_trace.h"

#include "profile/span_log.h"

#include <lathe/base/clock.h>

#include <ATen/record_function.h>

#include <atomic>
#include <cstdint>

namespace lathe::arm {
namespace {

// The callbacks are plain function pointers without a context argument: this is how they find the
// log.
std::atomic<SpanLog*> g_log{nullptr};

struct Started : at::ObserverContext
{
    std::int64_t startNs = monotonicNs();
};

std::unique_ptr<at::ObserverContext> onStart(const at::RecordFunction&)
{
    return std::make_unique<Started>();
}

void onEnd(const at::RecordFunction& function, at::ObserverContext* context)
{
    const std::int64_t endNs = monotonicNs();
    SpanLog* const log = g_log.load();
    if (log && context)
        log->add(function.name(),
                 SpanCategory::Operator,
                 static_cast<Started*>(context)->startNs,
                 endNs);
}

} // namespace

OpTrace::OpTrace(SpanLog& log)
{
    g_log.store(&log);
    m_handle = at::addGlobalCallback(at::RecordFunctionCallback(onStart, onEnd)
                                         .scopes({at::RecordScope::FUNCTION,
                                                  at::RecordScope::BACKWARD_FUNCTION,
                                                  at::RecordScope::USER_SCOPE}));
}

OpTrace::~OpTrace()
{
    at::removeCallback(m_handle);
    g_log.store(nullptr);
}

} // namespace lathe::arm
