// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lathe::arm {

/// Which device functions are the candidate's own: those that a loaded kernels.so registers by name
/// (nvcc's host code holds the mangled names as text), and those that Inductor or Triton generated
/// for the model.
class OwnKernels
{
public:
    /// Reads every loaded kernels.so of this process.
    static OwnKernels ofThisProcess();
    explicit OwnKernels(std::vector<std::string> images)
        : m_images(std::move(images))
    {}
    [[nodiscard]] bool contains(std::string_view mangledName);

private:
    std::vector<std::string> m_images; ///< bytes of the libraries
    std::unordered_map<std::string, bool> m_known;
};

} // namespace lathe::arm
