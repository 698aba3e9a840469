// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace lathe::task {

/// The top-level names of a Python file with their lines (from 1), found without running it.
/// Strings and comments are skipped, so a name inside a docstring does not count.
struct PythonOutline
{
    std::map<std::string, int> constants; ///< NAME = ..., NAME: type = ...
    std::map<std::string, int> functions;
    std::map<std::string, int> classes;
    int unclosedBracketLine = 0;    ///< line of a bracket that is never closed; 0: none
    int unterminatedStringLine = 0; ///< line where a string begins that never ends; 0: none
};

PythonOutline outlinePython(std::string_view source);

/// True for an ASCII Python identifier that is not a keyword.
bool isPythonIdentifier(std::string_view text);

} // namespace lathe::task
