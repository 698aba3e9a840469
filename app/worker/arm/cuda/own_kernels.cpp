// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "own_kernels.h"

#include <fstream>
#include <iterator>
#include <link.h>

namespace lathe::arm {
namespace {

constexpr std::string_view kLibrary = "/kernels.so";
constexpr std::string_view kGenerated = "triton_";

int collectPath(dl_phdr_info* info, std::size_t, void* paths)
{
    const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
    if (path.ends_with(kLibrary)) {
        static_cast<std::vector<std::string>*>(paths)->emplace_back(path);
    }
    return 0;
}

} // namespace

OwnKernels OwnKernels::ofThisProcess()
{
    std::vector<std::string> paths;
    dl_iterate_phdr(collectPath, &paths);
    std::vector<std::string> images;
    for (const std::string& path : paths) {
        std::ifstream file(path, std::ios::binary);
        images.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return OwnKernels(std::move(images));
}

bool OwnKernels::contains(std::string_view mangledName)
{
    if (mangledName.empty() || mangledName.starts_with(kGenerated)) {
        return !mangledName.empty();
    }
    const auto [it, isNew] = m_known.try_emplace(std::string(mangledName), false);
    if (isNew) {
        // With the terminator on both sides, so that a short name does not match inside a longer
        // one.
        const std::string text = '\0' + std::string(mangledName) + '\0';
        for (const std::string& image : m_images) {
            it->second = it->second || image.find(text) != std::string::npos;
        }
    }
    return it->second;
}

} // namespace lathe::arm
