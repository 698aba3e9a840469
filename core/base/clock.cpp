// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/clock.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <ctime>

namespace lathe {

std::int64_t monotonicNs()
{
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

std::string utcNow()
{
    timespec t{};
    clock_gettime(CLOCK_REALTIME, &t);
    tm parts{};
    gmtime_r(&t.tv_sec, &parts);
    std::array<char, 96> text{};
    std::snprintf(text.data(),
                  text.size(),
                  "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ",
                  parts.tm_year + 1900,
                  parts.tm_mon + 1,
                  parts.tm_mday,
                  parts.tm_hour,
                  parts.tm_min,
                  parts.tm_sec,
                  t.tv_nsec / 1'000'000);
    return text.data();
}

} // namespace lathe
