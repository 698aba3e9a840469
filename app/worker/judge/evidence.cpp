// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "evidence.h"

#include "arm_file.h"

#include <lathe/base/json.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace lathe::worker {
namespace {

using protocol::ArmMessage;
using protocol::ArmWriter;
using protocol::FieldTag;

constexpr std::uint64_t kMaxTraceBytes = 64ull << 20;
constexpr std::size_t kMaxSummedBytes = 16u << 20; ///< a longer trace goes out unread
constexpr std::size_t kMaxKernels = 64;

nlohmann::json kernelSums(const std::string& text)
{
    if (text.size() > kMaxSummedBytes) {
        return nlohmann::json::array();
    }
    const auto json = parseJson(text);
    struct Sum
    {
        std::int64_t count = 0;
        double micros = 0;
    };
    std::map<std::string, Sum> sums;
    if (json) {
        const nlohmann::json* events = &*json;
        if (json->is_object() && json->contains("traceEvents")) {
            events = &(*json)["traceEvents"];
        }
        if (events->is_array()) {
            for (const auto& event : *events) {
                if (stringOr(event, "cat") == "kernel" && stringOr(event, "ph") == "X") {
                    Sum& sum = sums[stringOr(event, "name")];
                    ++sum.count;
                    sum.micros += numberOr(event, "dur", 0);
                }
            }
        }
    }
    std::vector<std::pair<std::string, Sum>> ordered(sums.begin(), sums.end());
    std::sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) {
        return a.second.micros > b.second.micros;
    });
    auto out = nlohmann::json::array();
    for (const auto& [name, sum] : ordered) {
        if (out.size() == kMaxKernels) {
            break;
        }
        out.push_back({{"name", name}, {"count", sum.count}, {"seconds", sum.micros / 1e6}});
    }
    return out;
}

} // namespace

Result<nlohmann::json> traceArm(ArmProcess& process,
                                const std::string& arm,
                                const std::string& variant,
                                int calls,
                                double timeoutSeconds,
                                const EventSink& sink,
                                int cancelFd,
                                Ledger& ledger)
{
    std::string text;
    std::vector<double> seconds;
    {
        const Stopwatch watch(ledger.armSeconds);
        // As in the timing, the calls that count come after others that wake the arm up.
        constexpr int kLeadCalls = 2;
        const auto led = process.call(ArmWriter(ArmMessage::Time)
                                          .integers(FieldTag::Ints, {0})
                                          .integer(FieldTag::Int, kLeadCalls),
                                      {},
                                      timeoutSeconds * kLeadCalls,
                                      cancelFd);
        if (!led) {
            return tl::unexpected(led.error());
        }
        if (auto right = expectReply(*led, ArmMessage::Timed); !right) {
            return tl::unexpected(right.error());
        }
        const auto reply = process.call(
            ArmWriter(ArmMessage::Trace).integer(FieldTag::Int, 0).integer(FieldTag::Int2, calls),
            {},
            timeoutSeconds * calls + 30,
            cancelFd);
        if (!reply) {
            return tl::unexpected(reply.error());
        }
        if (auto right = expectReply(*reply, ArmMessage::Traced); !right) {
            return tl::unexpected(right.error());
        }
        auto floats = reply->message.floats(FieldTag::Floats);
        if (reply->fds.empty() || !floats || floats->size() < 2) {
            return fail(ErrorCode::Protocol, "the arm sent no trace");
        }
        auto read = readArmFile(reply->fds[0].get(),
                                reply->message.integer(FieldTag::Int),
                                kMaxTraceBytes,
                                "the trace");
        if (!read) {
            return tl::unexpected(read.error());
        }
        text = std::move(*read);
        seconds = std::move(*floats);
    }
    nlohmann::json out{{"variant", variant},
                       {"calls", calls},
                       {"busySeconds", seconds[0]},
                       {"spanSeconds", seconds[1]},
                       {"kernels", kernelSums(text)}};
    sink(protocol::TraceEvent{arm, variant, "evidence", calls, std::move(text)});
    return out;
}

} // namespace lathe::worker
