// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "torch_build.h"

#include "open_files.h"

#include <lathe/base/files.h>
#include <lathe/base/json.h>
#include <lathe/base/text.h>
#include <lathe/process/spawn.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace lathe::worker {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostExtensions = 32;
constexpr std::size_t kMostFiles = 256;
constexpr std::size_t kMostBytes = 8u << 20;

/// Nothing of torch is imported: that would cost seconds.
constexpr const char* kAsk = R"(import importlib.util, os, sysconfig
print(os.path.dirname(importlib.util.find_spec('torch').origin))
print(sysconfig.get_paths()['include'])
)";

/// What torch/extension.h is for most extensions, at a third of its compile time.
constexpr const char* kLightHeader = "#pragma once\n"
                                     "#include <torch/types.h>\n"
                                     "#include <torch/csrc/utils/pybind.h>\n";

constexpr const char* kBindingRegistry = R"(#pragma once
// Lathe's own form of the header that CUDA Agent's workdirs include: each *_binding.cpp registers a
// function that adds its kernels to the module.
#include <pybind11/pybind11.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

class BindingRegistry
{
public:
    using BindingFunction = std::function<void(pybind11::module_&)>;

    static BindingRegistry& getInstance()
    {
        static BindingRegistry registry;
        return registry;
    }
    void registerBinding(const std::string& name, BindingFunction function)
    {
        m_bindings.emplace_back(name, std::move(function));
    }
    void applyBindings(pybind11::module_& module)
    {
        for (const auto& [name, function] : m_bindings) {
            function(module);
        }
    }

private:
    std::vector<std::pair<std::string, BindingFunction>> m_bindings;
};

struct BindingRegistrar
{
    BindingRegistrar(const std::string& name, BindingRegistry::BindingFunction function)
    {
        BindingRegistry::getInstance().registerBinding(name, std::move(function));
    }
};

#define REGISTER_BINDING(name, function)                                                           \
    static const BindingRegistrar latheRegistrar_##name(                                           \
        #name, [](pybind11::module_& module) { function(module); })
)";

constexpr const char* kModule = R"(#include "binding_registry.h"

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module)
{
    BindingRegistry::getInstance().applyBindings(module);
}
)";

bool isCuda(const std::string& path)
{
    return path.ends_with(".cu");
}

bool isUnit(const std::string& path)
{
    return path.ends_with(".cpp") || path.ends_with(".cc") || path.ends_with(".cxx")
           || isCuda(path);
}

Result<std::vector<std::string>> texts(const nlohmann::json& json, const char* key)
{
    std::vector<std::string> out;
    const auto it = json.find(key);
    if (it == json.end() || !it->is_array()) {
        return fail(ErrorCode::Protocol, std::string("an extension has no list \"") + key + "\"");
    }
    for (const auto& item : *it) {
        if (!item.is_string()) {
            return fail(ErrorCode::Protocol, std::string("\"") + key + "\" is no list of texts");
        }
        out.push_back(item.get<std::string>());
    }
    return out;
}

Result<Extension> readExtension(const nlohmann::json& json)
{
    Extension out;
    if (!json.is_object()) {
        return fail(ErrorCode::Protocol, "an extension is no object");
    }
    out.name = stringOr(json, "name");
    out.key = stringOr(json, "key");
    out.impliedHeader = boolOr(json, "header", false);
    const auto isWord = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
               || c == '_';
    };
    const auto isHex = [](char c) { return (c >= 'a' && c <= 'f') || (c >= '0' && c <= '9'); };
    if (out.name.empty() || out.name.size() > 100
        || !std::all_of(out.name.begin(), out.name.end(), isWord) || out.key.size() != 64
        || !std::all_of(out.key.begin(), out.key.end(), isHex)) {
        return fail(ErrorCode::Protocol, "an extension's name or key is not one");
    }
    auto flags = texts(json, "flags");
    auto link = texts(json, "link");
    auto units = texts(json, "units");
    const auto files = json.find("files");
    if (!flags || !link || !units || files == json.end() || !files->is_array()
        || files->size() > kMostFiles) {
        return fail(ErrorCode::Protocol, "an extension's lists are not what they should be");
    }
    std::set<std::string> names;
    for (const auto& file : *files) {
        if (!file.is_array() || file.size() != 2 || !file[0].is_string() || !file[1].is_string()
            || !isSafeRelativePath(file[0].get<std::string>())
            || !names.insert(file[0].get<std::string>()).second) {
            return fail(ErrorCode::Protocol, "an extension's file has no safe name");
        }
        out.files.push_back({file[0].get<std::string>(), file[1].get<std::string>()});
    }
    for (const std::string& unit : *units) {
        if (!names.contains(unit)) {
            return fail(ErrorCode::Protocol, "an extension names a source that is not there");
        }
    }
    out.flags = std::move(*flags);
    out.link = std::move(*link);
    out.units = std::move(*units);
    return out;
}

} // namespace

Result<TorchPaths> findTorch(const fs::path& python)
{
    process::SpawnOptions options;
    options.command = {python.string(), "-I", "-c", kAsk};
    const auto done = process::runCaptured(options, 20, 1u << 16);
    const auto lines = done ? splitLines(done->out) : std::vector<std::string>{};
    if (!done || done->exitCode != 0 || lines.size() < 2) {
        return fail(ErrorCode::Unsupported,
                    "the Python environment " + python.string()
                        + " has no PyTorch to build extensions with",
                    done ? done->err : done.error().message);
    }
    TorchPaths out{lines[0], lines[1], true, {}};
    std::error_code error;
    if (!fs::exists(out.package / "include/torch/extension.h", error)
        || !fs::exists(out.pythonInclude / "Python.h", error)) {
        return fail(ErrorCode::Unsupported,
                    "extensions need the headers of PyTorch and Python: " + out.package.string()
                        + "/include/torch/extension.h and " + out.pythonInclude.string()
                        + "/Python.h");
    }
    const std::string config =
        readFile(out.package / "share/cmake/Torch/TorchConfig.cmake").value_or("");
    out.cxx11Abi = config.find("_GLIBCXX_USE_CXX11_ABI=0") == std::string::npos;
    out.key = readFile(out.package / "version.py").value_or("") + out.pythonInclude.string()
              + out.package.string();
    return out;
}

Result<std::vector<Extension>> readExtensions(const std::string& json)
{
    if (json.size() > kMostBytes) {
        return fail(ErrorCode::Protocol, "the extensions' sources are over 8 MiB");
    }
    const auto list = parseJson(json);
    if (!list || !list->is_array() || list->size() > kMostExtensions) {
        return fail(ErrorCode::Protocol, "the list of extensions is not one");
    }
    std::vector<Extension> out;
    for (const auto& entry : *list) {
        auto extension = readExtension(entry);
        if (!extension) {
            return tl::unexpected(extension.error());
        }
        out.push_back(std::move(*extension));
    }
    return out;
}

std::string refuseExtension(const Extension& extension, bool cuda)
{
    const bool device = std::any_of(extension.files.begin(),
                                    extension.files.end(),
                                    [](const auto& file) { return isCuda(file.path); });
    if (device && !cuda) {
        return "the extension " + extension.name
               + " has CUDA sources, which cannot be built for the CPU target";
    }
    if (device) {
        return "CUDA sources of load_inline are not built by Lathe yet: put them into kernels/*.cu";
    }
    if (extension.units.empty()) {
        return "the extension " + extension.name + " has no source to compile";
    }
    return {};
}

Result<CompileResult> compileExtension(const Sandbox& sandbox,
                                       const BuilderSettings& settings,
                                       const TorchPaths& torch,
                                       const Extension& extension,
                                       const fs::path& work,
                                       int cancelFd)
{
    for (const char* folder : {"src", "out", "light"}) {
        if (auto made = makeOpenFolder(work / folder); !made) {
            return tl::unexpected(made.error());
        }
    }
    for (const auto& file : extension.files) {
        const bool unit = std::find(extension.units.begin(), extension.units.end(), file.path)
                          != extension.units.end();
        const std::string text = extension.impliedHeader && unit
                                     ? "#include <torch/extension.h>\n#line 1\n" + file.text
                                     : file.text;
        if (auto written = writeOpenFile(work / "src", file.path, text); !written) {
            return tl::unexpected(written.error());
        }
    }
    if (auto written = writeOpenFile(work / "light", "torch/extension.h", kLightHeader); !written) {
        return tl::unexpected(written.error());
    }
    if (auto given = sandbox.giveToTools(work / "out"); !given) {
        return tl::unexpected(given.error());
    }
    const std::string package = torch.package.string();
    CompileJob job;
    job.settings = &settings;
    job.sources = work / "src";
    job.output = work / "out";
    job.files = extension.units;
    job.flags = extension.flags;
    job.library = extension.name + ".so";
    job.standard = "-std=c++17";
    job.mounts = {torch.package, torch.pythonInclude};
    job.include = {"-I/build/src",
                   "-isystem",
                   package + "/include",
                   "-isystem",
                   package + "/include/torch/csrc/api/include",
                   "-isystem",
                   torch.pythonInclude.string(),
                   "-DTORCH_EXTENSION_NAME=" + extension.name,
                   "-DTORCH_API_INCLUDE_EXTENSION_H",
                   torch.cxx11Abi ? "-D_GLIBCXX_USE_CXX11_ABI=1" : "-D_GLIBCXX_USE_CXX11_ABI=0"};
    job.link = extension.link;
    job.link.insert(job.link.end(),
                    {"-L" + package + "/lib", "-lc10", "-ltorch_cpu", "-ltorch", "-ltorch_python"});
    CompileJob light = job;
    light.include.insert(light.include.begin(), "-I" + (work / "light").string());
    light.mounts.push_back(work / "light");
    auto first = compile(sandbox, light, cancelFd);
    if (!first || first->ok || !first->reason.empty()) {
        return first;
    }
    return compile(sandbox, job, cancelFd);
}

Extension workdirExtension(const protocol::CandidateSpec& candidate)
{
    Extension out;
    out.name = "cuda_extension";
    for (const auto& file : candidate.files) {
        if (!file.path.starts_with("kernels/")) {
            continue;
        }
        out.files.push_back(file);
        if (isUnit(file.path)) {
            out.units.push_back(file.path);
        }
    }
    out.files.push_back({"binding_registry.h", kBindingRegistry});
    out.files.push_back({"binding.cpp", kModule});
    out.units.emplace_back("binding.cpp");
    out.flags = candidate.flags;
    return out;
}

} // namespace lathe::worker
