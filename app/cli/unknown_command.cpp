// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "unknown_command.h"

#include <algorithm>
#include <numeric>

namespace lathe::cli {

namespace {

/// Levenshtein distance.
std::size_t distance(const std::string& a, const std::string& b)
{
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t above = row[j];
            row[j] =
                std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
            diagonal = above;
        }
    }
    return row[b.size()];
}

} // namespace

std::optional<std::string> unknownCommandHint(const std::vector<std::string>& commands,
                                              const std::vector<std::string>& arguments)
{
    const auto word = std::find_if(arguments.begin() + (arguments.empty() ? 0 : 1),
                                   arguments.end(),
                                   [](const std::string& a) { return !a.starts_with('-'); });
    if (word == arguments.end())
        return std::nullopt;
    std::string nearest;
    std::size_t least = 3; // a word further away than two letters is no slip of the finger
    for (const std::string& command : commands) {
        if (command == *word)
            return std::nullopt;
        if (const std::size_t d = distance(*word, command); d < least) {
            least = d;
            nearest = command;
        }
    }
    std::string hint = "There is no command \"" + *word + "\".";
    if (!nearest.empty())
        return hint + " Did you mean \"lathe " + nearest + "\"?";
    return hint + " \"lathe --help\" lists them.";
}

} // namespace lathe::cli
