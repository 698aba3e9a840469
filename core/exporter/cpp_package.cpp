// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "embedded_files.h"
#include "export_parts.h"

namespace lathe::exporter {
namespace {

constexpr const char* kFindLibrary = R"(

import os
import pathlib
import sys

_library = os.environ.get("LATHE_NATIVE_LIBRARY") or pathlib.Path(__file__).resolve().parent.parent / "build" / "liblathe_kernels.so"
if not pathlib.Path(_library).exists():
    raise ImportError(f"{_library} is not built yet; see README.md")
sys.modules[__name__] = load_kernels(_library)
)";

std::string cmakeText(const task::Task& task, const protocol::CandidateSpec& candidate)
{
    const bool cuda = hasCuda(candidate);
    std::string sources;
    for (const auto& file : candidate.files) {
        if (isKernelSource(file.path)
            && (file.path.ends_with(".cpp") || file.path.ends_with(".cu"))) {
            sources += (sources.empty() ? "" : " ") + file.path;
        }
    }
    std::string flags;
    for (const auto& flag : candidate.flags) {
        flags += " " + flag;
    }
    std::string options =
        "find_package(OpenMP REQUIRED)\ntarget_link_libraries(@NAME@ PRIVATE OpenMP::OpenMP_CXX)\n"
        "target_compile_options(@NAME@ PRIVATE -O3 -march=native"
        + flags + ")";
    if (cuda) {
        options = "target_compile_options(@NAME@ PRIVATE \"$<$<COMPILE_LANGUAGE:CUDA>:-O3;-lineinfo"
                  + replaced(flags, " ", ";") + ">\")";
    }
    const std::string cudaSetup = "set(CMAKE_CUDA_STANDARD 17)\nif(NOT CMAKE_CUDA_ARCHITECTURES OR "
                                  "CMAKE_CUDA_ARCHITECTURES STREQUAL \"52\")\n"
                                  "  set(CMAKE_CUDA_ARCHITECTURES 90) # "
                                  "-DCMAKE_CUDA_ARCHITECTURES=... for another GPU\nendif()";
    std::string text = replaced(embedded::kCMake, "@OPTIONS@", options);
    text = replaced(text, "@LANGUAGES@", cuda ? "CXX CUDA" : "CXX");
    text = replaced(text, "@CUDA@", cuda ? cudaSetup : "");
    text = replaced(text, "@SOURCES@", sources);
    return replaced(text, "@NAME@", exportName(task));
}

} // namespace

FileMap
cppPackage(const task::Task& task, const protocol::CandidateSpec& candidate, bool withReport)
{
    FileMap files;
    for (const auto& file : candidate.files) {
        files[isKernelSource(file.path) ? file.path : "python/" + file.path] = file.text;
    }
    files["include/lathe/kernel.h"] = embedded::kKernelHeader;
    files["include/dlpack/dlpack.h"] = embedded::kDlpackHeader;
    files["include/tvm/ffi/c_api.h"] = embedded::kTvmHeader;
    files["src/lathe_runtime.cpp"] = embedded::kRuntime;
    files["python/lathe_native.py"] = std::string(embedded::kLoader) + kFindLibrary;
    files["CMakeLists.txt"] = cmakeText(task, candidate);
    files["test/reference.py"] = task.spec.source;
    files["test/test_against_reference.py"] =
        replaced(embedded::kTest, "@DEVICE@", hasCuda(candidate) ? "cuda" : "cpu");
    std::string readme = replaced(embedded::kReadme, "@TITLE@", task.title);
    readme = replaced(readme, "@KEY@", task.spec.key);
    files["README.md"] = replaced(
        readme,
        "@REPORT@",
        withReport
            ? "- `report.json` what was measured, on which machine, and which checks it passed."
            : "");
    return files;
}

} // namespace lathe::exporter
