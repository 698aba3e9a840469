// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
// The logs are what the tools themselves print: g++ 12.2, GNU ld 2.40, nvcc and ptxas 13.0.
#include "diagnostics.h"
#include "elf_exports.h"

#include <lathe/base/files.h>

#include <gtest/gtest.h>

namespace lathe::worker {
namespace {

struct Expected
{
    const char* line;
    const char* file;
    int row;
    int column;
    const char* severity;
    const char* message;
};

TEST(Diagnostics, ReadsEachToolsForm)
{
    const Expected cases[] = {
        {"kernels/a.cpp:3:12: error: 'x' was not declared in this scope",
         "kernels/a.cpp",
         3,
         12,
         "error",
         "'x' was not declared in this scope"},
        {"kernels/a.cpp:1:10: fatal error: nothere.h: No such file or directory",
         "kernels/a.cpp",
         1,
         10,
         "error",
         "nothere.h: No such file or directory"},
        {"kernels/a.cpp:7:5: warning: unused variable 'y' [-Wunused-variable]",
         "kernels/a.cpp",
         7,
         5,
         "warning",
         "unused variable 'y' [-Wunused-variable]"},
        {"kernels/a.cpp:7:5: note: suggested alternative: 'z'",
         "kernels/a.cpp",
         7,
         5,
         "note",
         "suggested alternative: 'z'"},
        {"kernels/k.cu(1): error: identifier \"n\" is undefined",
         "kernels/k.cu",
         1,
         0,
         "error",
         "identifier \"n\" is undefined"},
        {"kernels/k.cu(12): warning #177-D: variable \"v\" was declared but never referenced",
         "kernels/k.cu",
         12,
         0,
         "warning",
         "variable \"v\" was declared but never referenced"},
        {"kernels/k.cu(4): error #20: identifier \"q\" is undefined",
         "kernels/k.cu",
         4,
         0,
         "error",
         "identifier \"q\" is undefined"},
        {"nvcc fatal   : Unsupported gpu architecture 'compute_7'",
         "",
         0,
         0,
         "error",
         "Unsupported gpu architecture 'compute_7'"},
        {"g++: error: unrecognized command-line option '-fnope'",
         "",
         0,
         0,
         "error",
         "unrecognized command-line option '-fnope'"},
        {"cc1plus: fatal error: kernels/b.cpp: No such file or directory",
         "",
         0,
         0,
         "error",
         "kernels/b.cpp: No such file or directory"},
        {"/tmp/ccRjULiy.s:7: Error: file not found: /etc/shadow",
         "",
         0,
         0,
         "error",
         "file not found: /etc/shadow"},
        {"kernels/a.cpp:3: undefined reference to `missing(float*)'",
         "kernels/a.cpp",
         3,
         0,
         "error",
         "undefined reference to `missing(float*)'"},
        {"/usr/bin/ld: /tmp/ccX.o: in function `run':", nullptr, 0, 0, "", ""},
        {"a.cpp:(.text+0x9): undefined reference to `missing'",
         "",
         0,
         0,
         "error",
         "undefined reference to `missing'"},
    };
    for (const Expected& expected : cases) {
        const auto found = parseDiagnostics(expected.line);
        if (expected.file == nullptr) {
            EXPECT_TRUE(found.empty()) << expected.line;
            continue;
        }
        ASSERT_EQ(found.size(), 1u) << expected.line;
        EXPECT_EQ(found[0].file, expected.file) << expected.line;
        EXPECT_EQ(found[0].line, expected.row) << expected.line;
        EXPECT_EQ(found[0].column, expected.column) << expected.line;
        EXPECT_EQ(found[0].severity, expected.severity) << expected.line;
        EXPECT_EQ(found[0].message, expected.message) << expected.line;
    }
}

TEST(Diagnostics, LeavesOutCodeExcerptsAndTheLinkersRepetition)
{
    const auto found =
        parseDiagnostics("kernels/a.cpp: In function 'int f()':\n"
                         "kernels/a.cpp:3:12: error: 'x' was not declared in this scope\n"
                         "    3 |     return x; // : error: not one\n"
                         "      |            ^\n"
                         "a.o: in function `f': a.cpp:9: undefined reference to `g()'\n"
                         "collect2: error: ld returned 1 exit status\n");
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[1].file, "a.cpp");
    EXPECT_EQ(found[1].line, 9);
}

TEST(Ptxas, ReadsRegistersSharedMemoryAndSpills)
{
    const auto kernels =
        parsePtxas("ptxas info    : 0 bytes gmem\n"
                   "ptxas info    : Compiling entry function '_Z3fooILi3EEvPfi' for 'sm_90'\n"
                   "ptxas info    : Function properties for _Z3fooILi3EEvPfi\n"
                   "    16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
                   "ptxas info    : Used 10 registers, used 1 barriers, 1024 bytes smem\n"
                   "ptxas info    : Compiling entry function 'plain' for 'sm_90'\n"
                   "ptxas info    : Function properties for plain\n"
                   "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                   "ptxas info    : Used 255 registers, used 0 barriers\n");
    ASSERT_EQ(kernels.size(), 2u);
    EXPECT_EQ(kernels[0].name, "void foo<3>(float*, int)"); // as c++filt prints it
    EXPECT_EQ(kernels[0].registers, 10);
    EXPECT_EQ(kernels[0].sharedBytes, 1024);
    EXPECT_EQ(kernels[0].spillStoreBytes, 4);
    EXPECT_EQ(kernels[0].spillLoadBytes, 8);
    EXPECT_EQ(kernels[1].name, "plain");
    EXPECT_EQ(kernels[1].registers, 255);
    EXPECT_EQ(kernels[1].sharedBytes, 0);
}

TEST(ElfExports, RefusesWhatIsNoLibraryAndSurvivesEveryTruncation)
{
    EXPECT_FALSE(elfExports("", "x").has_value());
    EXPECT_FALSE(elfExports("#!/bin/sh\n", "x").has_value());
    const std::string self = readFile("/proc/self/exe").value();
    ASSERT_TRUE(elfExports(self, "").has_value());
    for (std::size_t size = 0; size < self.size(); size += self.size() / 97 + 1) {
        elfExports(std::string_view(self).substr(0, size), "x"); // must not read outside (asan)
    }
}

} // namespace
} // namespace lathe::worker
