// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0

// What kernels ask of their host, for a host that is plain Python: the last error's text and the
// current stream.
#include <cstdint>
#include <cstdio>

namespace {
thread_local char g_error[256];
thread_local void* g_stream = nullptr;
} // namespace

extern "C" {

void TVMFFIErrorSetRaisedFromCStr(const char*, const char* message)
{
    std::snprintf(g_error, sizeof g_error, "%s", message);
}

void* TVMFFIEnvGetStream(int32_t, int32_t)
{
    return g_stream;
}

const char* lathe_last_error()
{
    return g_error;
}

void lathe_set_stream(void* stream)
{
    g_stream = stream;
}
}
