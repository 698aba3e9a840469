// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "embedded_files.h"
#include "export_parts.h"

#include <lathe/base/text.h>

namespace lathe::exporter {
namespace {

/// A Python string literal that reads like the text: triple-quoted, with what would end or change
/// it escaped.
std::string tripleQuoted(const std::string& text)
{
    std::string escaped = replaced(text, "\\", "\\\\");
    escaped = replaced(escaped, "\"\"\"", "\\\"\\\"\\\"");
    if (!escaped.empty() && escaped.back() == '"') {
        escaped.pop_back();
        escaped += "\\\"";
    }
    return "\"\"\"" + replaced(escaped, "\r", "\\r") + "\"\"\"";
}

std::string dictionary(const std::string& name, const FileMap& files)
{
    std::string out = name + " = {\n";
    for (const auto& [path, text] : files) {
        out += "    " + tripleQuoted(path) + ": " + tripleQuoted(text) + ",\n";
    }
    return out + "}\n";
}

/// Splits off "from __future__" lines: Python wants them before everything else.
std::string withoutFutureImports(const std::string& source, std::string& future)
{
    std::string rest;
    for (const auto& line : splitLines(source)) {
        (line.starts_with("from __future__ import") ? future : rest) += line + "\n";
    }
    return rest;
}

std::string flagList(const std::vector<std::string>& flags)
{
    std::string out = "[";
    for (const auto& flag : flags) {
        out += (out.size() > 1 ? ", " : "") + tripleQuoted(flag);
    }
    return out + "]";
}

} // namespace

std::string kernelBenchFile(const task::Task& task, const protocol::CandidateSpec& candidate)
{
    FileMap native;
    FileMap modules;
    std::string future;
    std::string model;
    for (const auto& file : candidate.files) {
        if (isKernelSource(file.path)) {
            native[file.path] = file.text;
        } else if (file.path == "model_new.py") {
            model = withoutFutureImports(file.text, future);
        } else if (file.path.ends_with(".py")) {
            std::string name = replaced(file.path.substr(0, file.path.size() - 3), "/", ".");
            modules[name] = file.text;
        }
    }
    std::string out = "# ModelNew for the task " + task.spec.key
                      + ", exported by Lathe: needs torch and a compiler, nothing else.\n" + future;
    if (!native.empty()) {
        native["include/lathe/kernel.h"] = embedded::kKernelHeader;
        native["include/dlpack/dlpack.h"] = embedded::kDlpackHeader;
        native["include/tvm/ffi/c_api.h"] = embedded::kTvmHeader;
        native["lathe_runtime.cpp"] = embedded::kRuntime;
        out += std::string("\n") + embedded::kBuilder + "\n" + embedded::kLoader
               + "\n\n# The kernels and the headers they need.\n" + dictionary("_FILES", native)
               + "\nsys.modules[\"lathe_native\"] = load_kernels(_build(_FILES, "
               + flagList(candidate.flags) + "))\n";
    }
    if (!modules.empty()) {
        out += std::string("\nimport sys\n") + embedded::kModules + "\n"
               + dictionary("_MODULES", modules)
               + "\nsys.meta_path.insert(0, _EmbeddedModules(_MODULES))\n";
    }
    return out + "\n# model_new.py\n" + model;
}

} // namespace lathe::exporter
