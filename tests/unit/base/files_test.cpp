// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/files.h>

#include <gtest/gtest.h>

#include <sys/stat.h>

namespace lathe {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test
{
protected:
    Files()
        : m_folder(makeTempFolder(fs::temp_directory_path(), "lathe-files-").value())
    {}
    ~Files() override { fs::remove_all(m_folder); }
    fs::path m_folder;
};

TEST_F(Files, RoundTripsBytesAndReplacesWhole)
{
    const std::string bytes("a\0b\n\xff", 5);
    ASSERT_TRUE(writeFileAtomic(m_folder / "f", "older and longer").has_value());
    ASSERT_TRUE(writeFileAtomic(m_folder / "f", bytes).has_value());
    EXPECT_EQ(readFile(m_folder / "f").value(), bytes);
    // Nothing but the file: no temporary is left beside it.
    EXPECT_EQ(std::distance(fs::directory_iterator(m_folder), fs::directory_iterator()), 1);
}

TEST_F(Files, AppliesTheMode)
{
    ASSERT_TRUE(writeFileAtomic(m_folder / "secret", "x", 0600).has_value());
    struct stat info = {};
    ASSERT_EQ(::stat((m_folder / "secret").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777u, 0600u);
    ASSERT_EQ(::stat(m_folder.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777u, 0700u);
}

TEST_F(Files, RefusesALargerFileInsteadOfTruncating)
{
    ASSERT_TRUE(writeFileAtomic(m_folder / "f", "12345").has_value());
    EXPECT_EQ(readFile(m_folder / "f", 5).value(), "12345");
    const auto tooLarge = readFile(m_folder / "f", 4);
    ASSERT_FALSE(tooLarge.has_value());
    EXPECT_EQ(tooLarge.error().code, ErrorCode::InvalidArgument);
}

TEST_F(Files, NamesAMissingFile)
{
    const auto missing = readFile(m_folder / "none");
    ASSERT_FALSE(missing.has_value());
    EXPECT_EQ(missing.error().code, ErrorCode::NotFound);
}

TEST(SafeRelativePath, RefusesEveryWayOut)
{
    for (const char* path : {"a", "a/b.cpp", "kernels/k.cu", "..a/b", "a..b"}) {
        EXPECT_TRUE(isSafeRelativePath(path)) << path;
    }
    for (const char* path : {"", "/a", "../a", "a/../b", "a/..", "a//b", "a/"}) {
        EXPECT_FALSE(isSafeRelativePath(path)) << path;
    }
    EXPECT_FALSE(isSafeRelativePath(std::string_view("a\0b", 3)));
}

} // namespace
} // namespace lathe
