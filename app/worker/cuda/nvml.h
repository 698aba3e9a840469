// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

namespace lathe::cuda {

/// Read-only questions to NVML, when libnvidia-ml.so.1 is there. Every answer may be empty.
class Nvml
{
public:
    /// Opens the device by its PCI bus id. Never fails: without NVML the answers are empty.
    explicit Nvml(const std::string& pciBusId);
    ~Nvml();
    Nvml(const Nvml&) = delete;
    Nvml& operator=(const Nvml&) = delete;
    [[nodiscard]] std::string driverVersion() const;
    [[nodiscard]] std::string clocks() const;
    [[nodiscard]] std::string throttle() const;

private:
    struct Api;
    std::unique_ptr<Api> m_api; ///< null: no NVML
    void* m_device = nullptr;
};

} // namespace lathe::cuda
