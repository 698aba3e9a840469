// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "digest.h"

#include <lathe/worker/memory.h>

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

using namespace lathe;
using namespace lathe::worker;

namespace {

// What an arm could try with the descriptors it gets, once the buffer is sealed.
TEST(HostMemory, SealedBuffersCannotBeWrittenByOthers)
{
    const auto space = makeHostMemory();
    const auto buffer = std::move(space->allocate(8192).value());
    ASSERT_TRUE(buffer->sealForReaders());
    EXPECT_TRUE(buffer->readOnlyEnforced());
    for (const Access access : {Access::Read, Access::ReadWrite}) {
        const int fd = buffer->fd(access);
        EXPECT_EQ(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
        EXPECT_LT(pwrite(fd, "x", 1, 0), 0);
        EXPECT_NE(ftruncate(fd, 0), 0);
        const std::string path = "/proc/self/fd/" + std::to_string(fd);
        const int again = open(path.c_str(), O_RDWR | O_CLOEXEC);
        if (again >= 0) {
            EXPECT_EQ(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0),
                      MAP_FAILED);
            EXPECT_LT(pwrite(again, "x", 1, 0), 0);
            close(again);
        }
        void* read = mmap(nullptr, 8192, PROT_READ, MAP_SHARED, fd, 0);
        ASSERT_NE(read, MAP_FAILED);
        EXPECT_NE(mprotect(read, 8192, PROT_READ | PROT_WRITE), 0);
        buffer->hostView()[5] = std::byte{42};
        EXPECT_EQ(static_cast<const char*>(read)[5], 42) << "the judge itself still writes";
        munmap(read, 8192);
    }
}

TEST(HostMemory, PoisonCoversEveryByte)
{
    const auto buffer = std::move(makeHostMemory()->allocate(7).value());
    ASSERT_TRUE(buffer->poison(0x5a5a5a5a));
    for (const std::byte byte : buffer->hostView()) {
        EXPECT_EQ(byte, std::byte{0x5a});
    }
    std::array<std::byte, 8> tooMuch{};
    EXPECT_FALSE(buffer->download(0, tooMuch));
    EXPECT_FALSE(buffer->upload(7, {tooMuch.data(), 1}));
}

TEST(Digest, EveryByteAndTheLengthCount)
{
    std::string text(100, '\0');
    const auto digest = [](const std::string& bytes) {
        return digestHex(std::as_bytes(std::span(bytes)));
    };
    const std::string before = digest(text);
    EXPECT_EQ(before.size(), 32u);
    EXPECT_EQ(digest(text), before);
    for (std::size_t i = 0; i < text.size(); ++i) {
        text[i] = 1;
        EXPECT_NE(digest(text), before) << i;
        text[i] = 0;
    }
    EXPECT_NE(digest(std::string(99, '\0')), before);
    // Swapped blocks.
    const std::string a(16, 'a');
    const std::string b(16, 'b');
    EXPECT_NE(digest(a + b), digest(b + a));
}

} // namespace
