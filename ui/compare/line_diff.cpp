// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/compare/line_diff.h>

#include <algorithm>

namespace lathe::ui {
namespace {

struct Step
{
    int left;
    int right;
};

void append(std::vector<DiffRun>& runs, bool same, int leftTo, int rightTo)
{
    const int leftFrom = runs.empty() ? 0 : runs.back().leftTo;
    const int rightFrom = runs.empty() ? 0 : runs.back().rightTo;
    if (leftFrom == leftTo && rightFrom == rightTo) {
        return;
    }
    if (!runs.empty() && runs.back().same == same) {
        runs.back().leftTo = leftTo;
        runs.back().rightTo = rightTo;
    } else {
        runs.push_back({same, leftFrom, leftTo, rightFrom, rightTo});
    }
}

// The furthest-reaching points per edit count; empty when maxEdits is not enough.
std::vector<std::vector<int>> searchEdits(const QStringList& a, const QStringList& b, int maxEdits)
{
    const int n = static_cast<int>(a.size());
    const int m = static_cast<int>(b.size());
    const int limit = std::min(n + m, maxEdits);
    std::vector<std::vector<int>> history;
    std::vector<int> reach(static_cast<std::size_t>(2 * limit + 3), 0);
    const auto at = [limit](int k) { return static_cast<std::size_t>(k + limit + 1); };
    for (int d = 0; d <= limit; ++d) {
        for (int k = -d; k <= d; k += 2) {
            int x = k == -d || (k != d && reach[at(k - 1)] < reach[at(k + 1)])
                        ? reach[at(k + 1)]
                        : reach[at(k - 1)] + 1;
            int y = x - k;
            while (x < n && y < m && a[x] == b[y]) {
                ++x;
                ++y;
            }
            reach[at(k)] = x;
            if (x >= n && y >= m) {
                history.emplace_back(reach.begin() + (limit + 1 - d),
                                     reach.begin() + (limit + 2 + d));
                return history;
            }
        }
        history.emplace_back(reach.begin() + (limit + 1 - d), reach.begin() + (limit + 2 + d));
    }
    return {};
}

std::vector<Step> backtrack(const std::vector<std::vector<int>>& history, int n, int m)
{
    std::vector<Step> path{{n, m}};
    int x = n;
    int y = m;
    for (int d = static_cast<int>(history.size()) - 1; d > 0; --d) {
        const auto& before = history[static_cast<std::size_t>(d - 1)]; // k from -(d-1) to d-1
        const auto reach = [&](int k) {
            const int index = k + d - 1;
            return index < 0 || index >= static_cast<int>(before.size())
                       ? -1
                       : before[static_cast<std::size_t>(index)];
        };
        const int k = x - y;
        const bool down = k == -d || (k != d && reach(k - 1) < reach(k + 1));
        const int previousK = down ? k + 1 : k - 1;
        const int previousX = reach(previousK);
        const int previousY = previousX - previousK;
        const int startX = down ? previousX : previousX + 1;
        path.push_back({startX, startX - k}); // where the diagonal began
        path.push_back({previousX, previousY});
        x = previousX;
        y = previousY;
    }
    path.push_back({0, 0});
    std::reverse(path.begin(), path.end());
    return path;
}

} // namespace

std::vector<DiffRun> diffLines(const QStringList& left, const QStringList& right, int maxEdits)
{
    int head = 0;
    const int shorter = static_cast<int>(std::min(left.size(), right.size()));
    while (head < shorter && left[head] == right[head]) {
        ++head;
    }
    int tail = 0;
    while (tail < shorter - head
           && left[left.size() - 1 - tail] == right[right.size() - 1 - tail]) {
        ++tail;
    }
    const QStringList a = left.mid(head, left.size() - head - tail);
    const QStringList b = right.mid(head, right.size() - head - tail);
    std::vector<DiffRun> runs;
    append(runs, true, head, head);
    const auto history = searchEdits(a, b, maxEdits);
    if (history.empty()) {
        append(runs, false, head + static_cast<int>(a.size()), head + static_cast<int>(b.size()));
    } else {
        const std::vector<Step> path =
            backtrack(history, static_cast<int>(a.size()), static_cast<int>(b.size()));
        for (std::size_t i = 1; i < path.size(); ++i) {
            const int dx = path[i].left - path[i - 1].left;
            const int dy = path[i].right - path[i - 1].right;
            append(runs, dx == dy && dx > 0, head + path[i].left, head + path[i].right);
        }
    }
    append(runs, true, static_cast<int>(left.size()), static_cast<int>(right.size()));
    return runs;
}

} // namespace lathe::ui
