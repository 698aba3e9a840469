// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "python_outline.h"

#include <gtest/gtest.h>

namespace lathe::task {
namespace {

TEST(PythonOutline, FindsTopLevelNamesWithLines)
{
    const auto outline = outlinePython("import torch\n"
                                       "rows = 4\n"
                                       "dtype: str = 'float32'\n"
                                       "\n"
                                       "class Model(torch.nn.Module):\n"
                                       "    inner = 3\n"
                                       "\n"
                                       "def get_inputs():\n"
                                       "    local = 1\n"
                                       "    return [local]\n");
    EXPECT_EQ(outline.constants, (std::map<std::string, int>{{"rows", 2}, {"dtype", 3}}));
    EXPECT_EQ(outline.classes, (std::map<std::string, int>{{"Model", 5}}));
    EXPECT_EQ(outline.functions, (std::map<std::string, int>{{"get_inputs", 8}}));
}

TEST(PythonOutline, SkipsStringsCommentsAndContinuations)
{
    const auto outline = outlinePython("\"\"\"\nclass Model:\nrows = 1\n\"\"\"\n"
                                       "# def get_inputs():\n"
                                       "shape = (\n1,\ncolumns == 2)\n"
                                       "text = 'it\\'s' + \"\"\"\ny = 3\n\"\"\"\n"
                                       "z = 5\n"
                                       "a == b\n");
    EXPECT_TRUE(outline.classes.empty());
    EXPECT_TRUE(outline.functions.empty());
    EXPECT_EQ(outline.constants,
              (std::map<std::string, int>{{"shape", 6}, {"text", 9}, {"z", 12}}));
    EXPECT_EQ(outline.unterminatedStringLine, 0);
}

TEST(PythonOutline, NamesTheUnterminatedString)
{
    EXPECT_EQ(outlinePython("a = 1\nb = \"\"\"never\nends\n").unterminatedStringLine, 2);
    EXPECT_EQ(outlinePython("a = 'oops\nb = 2\n").unterminatedStringLine, 1);
}

TEST(PythonIdentifier, KnowsKeywords)
{
    EXPECT_TRUE(isPythonIdentifier("_rows2"));
    EXPECT_FALSE(isPythonIdentifier("2rows"));
    EXPECT_FALSE(isPythonIdentifier("lambda"));
    EXPECT_FALSE(isPythonIdentifier("a-b"));
    EXPECT_FALSE(isPythonIdentifier(""));
}

TEST(PythonOutline, AnUnclosedBracketIsFoundWhereItOpens)
{
    const auto outline = outlinePython("import os\nx = [(1, 2)]\ndef f(a:\n    return a\ny = 3\n");
    EXPECT_EQ(outline.unclosedBracketLine, 3);
    EXPECT_TRUE(outline.constants.contains("x"));
    EXPECT_EQ(outlinePython("x = (1)\ny = ')('\n").unclosedBracketLine, 0);
    EXPECT_EQ(outlinePython("x = 1)\ny = [\n1]\n").unclosedBracketLine, 0); // the import says that
}

} // namespace
} // namespace lathe::task
