// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "nvml.h"

#include <dlfcn.h>
#include <type_traits>
#include <utility>

namespace lathe::cuda {
namespace {

// The toolkit does not ship nvml.h; these are the documented values of its stable ABI.
constexpr unsigned kClockSm = 1;
constexpr unsigned kClockMemory = 2;
constexpr unsigned kTemperatureGpu = 0;

struct ReasonName
{
    unsigned long long bit;
    const char* name;
};
constexpr ReasonName kReasons[] = {
    {0x1, "idle"},
    {0x2, "application clocks"},
    {0x4, "power cap"},
    {0x8, "hardware slowdown"},
    {0x10, "sync boost"},
    {0x20, "software thermal"},
    {0x40, "hardware thermal"},
    {0x80, "power brake"},
    {0x100, "display clocks"},
};

} // namespace

struct Nvml::Api
{
    int (*init)() = nullptr;
    int (*shutdown)() = nullptr;
    int (*driverVersion)(char*, unsigned) = nullptr;
    int (*handle)(const char*, void**) = nullptr;
    int (*clock)(void*, unsigned, unsigned*) = nullptr;
    int (*temperature)(void*, unsigned, unsigned*) = nullptr;
    int (*power)(void*, unsigned*) = nullptr;
    int (*reasons)(void*, unsigned long long*) = nullptr;
};

Nvml::Nvml(const std::string& pciBusId)
{
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        return;
    }
    auto api = std::make_unique<Api>();
    const auto load = [&](auto& function, const char* name) {
        function =
            reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    };
    load(api->init, "nvmlInit_v2");
    load(api->shutdown, "nvmlShutdown");
    load(api->driverVersion, "nvmlSystemGetDriverVersion");
    load(api->handle, "nvmlDeviceGetHandleByPciBusId_v2");
    load(api->clock, "nvmlDeviceGetClockInfo");
    load(api->temperature, "nvmlDeviceGetTemperature");
    load(api->power, "nvmlDeviceGetPowerUsage");
    load(api->reasons, "nvmlDeviceGetCurrentClocksEventReasons");
    if (api->reasons == nullptr) {
        load(api->reasons,
             "nvmlDeviceGetCurrentClocksThrottleReasons"); // its name before driver 535
    }
    if (api->init == nullptr || api->shutdown == nullptr || api->handle == nullptr
        || api->init() != 0) {
        return;
    }
    m_api = std::move(api);
    if (m_api->handle(pciBusId.c_str(), &m_device) != 0) {
        m_device = nullptr;
    }
}

Nvml::~Nvml()
{
    if (m_api) {
        m_api->shutdown();
    }
}

std::string Nvml::driverVersion() const
{
    char text[96] = {};
    if (!m_api || m_api->driverVersion == nullptr || m_api->driverVersion(text, sizeof text) != 0) {
        return {};
    }
    text[sizeof text - 1] = 0;
    return text;
}

std::string Nvml::clocks() const
{
    if (m_device == nullptr) {
        return {};
    }
    std::string text;
    const auto append = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
    unsigned value = 0;
    if (m_api->clock != nullptr && m_api->clock(m_device, kClockSm, &value) == 0) {
        append("SM " + std::to_string(value) + " MHz");
    }
    if (m_api->clock != nullptr && m_api->clock(m_device, kClockMemory, &value) == 0) {
        append("memory " + std::to_string(value) + " MHz");
    }
    if (m_api->temperature != nullptr
        && m_api->temperature(m_device, kTemperatureGpu, &value) == 0) {
        append(std::to_string(value) + " C");
    }
    if (m_api->power != nullptr && m_api->power(m_device, &value) == 0) {
        append(std::to_string((value + 500) / 1000) + " W");
    }
    return text;
}

std::string Nvml::throttle() const
{
    unsigned long long bits = 0;
    if (m_device == nullptr || m_api->reasons == nullptr || m_api->reasons(m_device, &bits) != 0) {
        return {};
    }
    std::string text;
    for (const ReasonName& reason : kReasons) {
        if ((bits & reason.bit) != 0) {
            text += (text.empty() ? "" : ", ") + std::string(reason.name);
        }
    }
    return text.empty() ? "none" : text;
}

} // namespace lathe::cuda
