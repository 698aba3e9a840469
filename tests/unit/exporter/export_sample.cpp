// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0

// export_sample TASK SOLUTION FORMAT FOLDER: the exporter alone, for scripts/check_export.py.
#include <lathe/candidate/candidate.h>
#include <lathe/exporter/exporter.h>

#include <cstdio>

int main(int argc, char** argv)
{
    if (argc != 5) {
        return 2;
    }
    const auto task = lathe::task::loadTask(argv[1], {});
    const auto candidate = lathe::candidate::loadSolution(argv[2]);
    if (!task || !candidate) {
        std::fprintf(stderr, "%s\n", (task ? candidate.error() : task.error()).message.c_str());
        return 1;
    }
    const auto files =
        lathe::exporter::exportCandidate(*task, *candidate, nullptr, argv[3], argv[4]);
    if (!files) {
        std::fprintf(stderr, "%s\n", files.error().message.c_str());
        return 1;
    }
    for (const auto& file : *files) {
        std::printf("%s\n", file.c_str());
    }
    return 0;
}
