// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/protocol/types.h>

#include <array>
#include <cstdint>
#include <limits>

namespace lathe::protocol {
namespace {

struct DTypeRow
{
    const char* name;
    std::size_t bytes;
};

// Indexed by DType.
constexpr std::array<DTypeRow, 14> kDTypes{{
    {"bool", 1},
    {"uint8", 1},
    {"int8", 1},
    {"int16", 2},
    {"int32", 4},
    {"int64", 8},
    {"float16", 2},
    {"bfloat16", 2},
    {"float32", 4},
    {"float64", 8},
    {"complex64", 8},
    {"complex128", 16},
    {"float8_e4m3fn", 1},
    {"float8_e5m2", 1},
}};

constexpr std::array<const char*, 8> kVerdicts{
    "correct", "wrong", "build_failed", "load_failed", "crashed", "timeout", "rejected", "refused"};
constexpr std::array<const char*, 3> kTiers{"quick", "full", "accept"};
constexpr std::array<const char*, 4> kUntils{"build", "verify", "bench", "profile"};
constexpr std::array<const char*, 4> kGateStatuses{"pass", "fail", "skip", "warn"};

template <std::size_t N>
const char* nameAt(const std::array<const char*, N>& names, std::size_t index)
{
    return index < N ? names[index] : "unknown";
}

template <class Enum, std::size_t N>
std::optional<Enum> find(const std::array<const char*, N>& names, std::string_view name)
{
    for (std::size_t i = 0; i < N; ++i) {
        if (name == names[i]) {
            return static_cast<Enum>(i);
        }
    }
    return std::nullopt;
}

} // namespace

const char* toString(DType dtype)
{
    const auto index = static_cast<std::size_t>(dtype);
    return index < kDTypes.size() ? kDTypes[index].name : "unknown";
}

std::optional<DType> dtypeFromString(std::string_view name)
{
    for (std::size_t i = 0; i < kDTypes.size(); ++i) {
        if (name == kDTypes[i].name) {
            return static_cast<DType>(i);
        }
    }
    return std::nullopt;
}

std::size_t elementBytes(DType dtype)
{
    const auto index = static_cast<std::size_t>(dtype);
    return index < kDTypes.size() ? kDTypes[index].bytes : 0;
}

std::int64_t TensorInfo::elements() const
{
    std::int64_t count = 1;
    bool overflow = false;
    for (const std::int64_t extent : shape) {
        if (extent <= 0) {
            return 0;
        }
        overflow = __builtin_mul_overflow(count, extent, &count) || overflow;
    }
    return overflow ? std::numeric_limits<std::int64_t>::max() : count;
}

std::uint64_t TensorInfo::bytes() const
{
    std::uint64_t total = 0;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(elements()),
                               static_cast<std::uint64_t>(elementBytes(dtype)),
                               &total)) {
        return std::numeric_limits<std::uint64_t>::max();
    }
    return total;
}

const char* toString(Verdict verdict)
{
    return nameAt(kVerdicts, static_cast<std::size_t>(verdict));
}
std::optional<Verdict> verdictFromString(std::string_view name)
{
    return find<Verdict>(kVerdicts, name);
}

const char* toString(Tier tier)
{
    return nameAt(kTiers, static_cast<std::size_t>(tier));
}
std::optional<Tier> tierFromString(std::string_view name)
{
    return find<Tier>(kTiers, name);
}

const char* toString(Until until)
{
    return nameAt(kUntils, static_cast<std::size_t>(until));
}
std::optional<Until> untilFromString(std::string_view name)
{
    return find<Until>(kUntils, name);
}

const std::vector<std::string>& baselineArms()
{
    static const std::vector<std::string> arms = {"eager",
                                                  "compile:default",
                                                  "compile:reduce-overhead",
                                                  "compile:max-autotune",
                                                  "compile:max-autotune-no-cudagraphs"};
    return arms;
}

const char* toString(GateStatus status)
{
    return nameAt(kGateStatuses, static_cast<std::size_t>(status));
}
std::optional<GateStatus> gateStatusFromString(std::string_view name)
{
    return find<GateStatus>(kGateStatuses, name);
}

} // namespace lathe::protocol
