// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/own_kernels.h"

#include <gtest/gtest.h>

using lathe::arm::OwnKernels;

namespace {

// As nvcc's host code holds them: NUL-terminated, one behind the other.
OwnKernels withNames()
{
    static constexpr char kImage[] = "head\0_Z9normaliseIfEvPT_\0_Z4plusPf\0.text";
    return OwnKernels({std::string(kImage, sizeof kImage)});
}

} // namespace

TEST(OwnKernels, FindsRegisteredNames)
{
    auto own = withNames();
    EXPECT_TRUE(own.contains("_Z9normaliseIfEvPT_"));
    EXPECT_TRUE(own.contains("_Z4plusPf"));
    EXPECT_TRUE(own.contains("_Z4plusPf")); // remembered
}

TEST(OwnKernels, APartOfANameIsNotTheName)
{
    auto own = withNames();
    EXPECT_FALSE(own.contains("_Z9normaliseIfEvPT"));
    EXPECT_FALSE(own.contains("Z4plusPf"));
    EXPECT_FALSE(own.contains("_ZN2at6native10elementwiseEv"));
}

TEST(OwnKernels, GeneratedKernelsBelongToTheModel)
{
    OwnKernels none({});
    EXPECT_TRUE(none.contains("triton_poi_fused_add_0"));
    EXPECT_FALSE(none.contains("cutlass_80_tensorop"));
    EXPECT_FALSE(none.contains(""));
}
