// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration.h"
#include "gates.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>

using namespace lathe;
using namespace lathe::worker;
using protocol::DType;

namespace {

Deviation honest(double relRmse, double maxRel)
{
    Deviation d;
    d.elements = 1000;
    d.relRmse = relRmse;
    d.maxRel = maxRel;
    return d;
}

// bfloat16 has 8 significant bits: unit roundoff 2^-8 = 0.00390625; float32 2^-24, times 64 is
// 2^-18.
TEST(Calibration, NeverBelowTheFloorOfTheType)
{
    Calibration narrow(DType::BFloat16);
    narrow.addHonest(honest(1e-6, 1e-6), 1.0);
    EXPECT_DOUBLE_EQ(narrow.limits({}).norm, 0.00390625);
    EXPECT_DOUBLE_EQ(narrow.limits({}).element, 0.015625);
    Calibration wide(DType::Float32);
    wide.addHonest(honest(0, 0), 1.0);
    EXPECT_DOUBLE_EQ(wide.limits({}).norm, std::ldexp(1.0, -18));
    EXPECT_DOUBLE_EQ(wide.limits({}).element, std::ldexp(1.0, -16));
    // tf32 rounds inputs to 11 significant bits: errors of about 2^-12 of the size must not fit in.
    EXPECT_LT(wide.limits({}).norm, std::ldexp(1.0, -12));
}

TEST(Calibration, FollowsTheWorstHonestTrial)
{
    Calibration c(DType::Float32);
    c.addHonest(honest(1e-4, 1e-3), 1.0);
    c.addHonest(honest(2e-4, 5e-4), 1.0);
    EXPECT_DOUBLE_EQ(c.limits({}).norm, 5e-4);
    EXPECT_DOUBLE_EQ(c.limits({}).element, 4e-3);
    EXPECT_EQ(c.limits({}).voidReason, "");
}

TEST(Calibration, VoidWhenZerosWouldPass)
{
    Calibration zero(DType::Float32);
    zero.addHonest(honest(0, 0), 0.0);
    EXPECT_NE(zero.limits({}).voidReason, "");
    Calibration spread(DType::Float32);
    spread.addHonest(honest(1.0, 1.0), 1e-39);
    EXPECT_NE(spread.limits({}).voidReason, "");
    EXPECT_NE(Calibration(DType::Float32).limits({}).voidReason, "");
    Calibration bad(DType::Float32);
    bad.addHonest(honest(NAN, NAN), 1.0);
    EXPECT_NE(bad.limits({}).voidReason, "");
}

TEST(Calibration, TheTasksToleranceOnlyWidens)
{
    Calibration c(DType::Float32);
    c.addHonest(honest(1e-7, 1e-7), 2.0);
    protocol::Tolerance tolerance;
    tolerance.relative = 0.01;
    EXPECT_DOUBLE_EQ(c.limits(tolerance).norm, 0.01);
    tolerance.relative = 1e-12;
    EXPECT_DOUBLE_EQ(c.limits(tolerance).norm, std::ldexp(1.0, -18));
    tolerance.absolute = 0.1;
    EXPECT_DOUBLE_EQ(c.limits(tolerance).element, 0.05);
}

TEST(Calibration, BothTestsMustPass)
{
    Calibration c(DType::Float32);
    c.addHonest(honest(1e-4, 1e-3), 1.0);
    const auto limits = c.limits({});
    EXPECT_EQ(whyOutside(honest(1e-4, 1e-3), limits, DType::Float32), "");
    EXPECT_NE(whyOutside(honest(3e-4, 1e-3), limits, DType::Float32), "");
    EXPECT_NE(whyOutside(honest(1e-4, 1e-2), limits, DType::Float32), "");
    EXPECT_NE(whyOutside(honest(NAN, 0), limits, DType::Float32), "");
    Deviation d = honest(0, 0);
    d.mismatches = 1;
    EXPECT_NE(whyOutside(d, limits, DType::Float32), "");
    EXPECT_NE(whyOutside(d, limits, DType::Int32), "");
}

TEST(Gates, DetailNamesTheWorstElement)
{
    Deviation d = honest(0.5, INFINITY);
    d.worstIndex = 7; // of [2, 4]: row 1, column 3
    d.expected = 1;
    d.got = NAN;
    const auto json = nlohmann::json::parse(numericsDetail(d, {}, {DType::Float32, {2, 4}, {}}, 1));
    EXPECT_EQ(json["worst"]["index"], nlohmann::json({1, 3}));
    EXPECT_EQ(json["worst"]["output"], 1);
    EXPECT_EQ(json["worst"]["got"], "NaN");
    EXPECT_EQ(json["maxRel"], "Infinity");
    EXPECT_EQ(json["relRmse"], 0.5);
}

struct Seen
{
    std::vector<protocol::GateResult> gates;
    EventSink sink = [this](const protocol::Event& event) {
        gates.push_back(std::get<protocol::GateEvent>(event).gate);
    };
};

TEST(Gates, OneVariantIsReportedAtOnce)
{
    Seen seen;
    GateBoard board(seen.sink, false);
    board.pass("load", "v", "fine");
    EXPECT_EQ(seen.gates.size(), 1u);
}

TEST(Gates, SeveralVariantsAreReportedOnceAndAFailureEndsThem)
{
    Seen seen;
    GateBoard board(seen.sink, true);
    for (const char* variant : {"a", "b"}) {
        board.pass("load", variant, "fine");
        board.pass("contract", variant, "fine");
    }
    EXPECT_TRUE(seen.gates.empty());
    board.fail("contract", "c", "wrong shape", "{}", {"numerics"});
    ASSERT_EQ(seen.gates.size(), 3u);
    EXPECT_EQ(seen.gates[0].name, "load");
    EXPECT_EQ(seen.gates[1].name, "contract");
    EXPECT_EQ(seen.gates[1].status, protocol::GateStatus::Fail);
    EXPECT_EQ(seen.gates[1].reason, "c: wrong shape");
    EXPECT_EQ(seen.gates[2].status, protocol::GateStatus::Skip);
    board.flush();
    EXPECT_EQ(seen.gates.size(), 3u);
}

} // namespace
