// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/sha256.h>

#include <gtest/gtest.h>

#include <string>

namespace lathe {
namespace {

// The vectors of FIPS 180-4's examples (NIST, "Secure Hash Standard" example values).
TEST(Sha256, AgreesWithTheStandardsExamples)
{
    EXPECT_EQ(sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(sha256Hex(std::string(1'000'000, 'a')),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnHowTheBytesArrive)
{
    const std::string text(300, 'q');
    for (std::size_t step : {1u, 55u, 56u, 63u, 64u, 65u, 299u}) {
        Sha256 hash;
        for (std::size_t at = 0; at < text.size(); at += step) {
            hash.update(std::string_view(text).substr(at, step));
        }
        EXPECT_EQ(hash.finishHex(), sha256Hex(text)) << step;
    }
}

} // namespace
} // namespace lathe
