// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The hand-off's fixed texts (templates/, resources/include), compiled in by embed.cmake.
namespace lathe::exporter::embedded {

extern const char* const kKernelHeader;
extern const char* const kDlpackHeader;
extern const char* const kTvmHeader;
extern const char* const kRuntime;
extern const char* const kLoader;
extern const char* const kBuilder;
extern const char* const kModules;
extern const char* const kCMake;
extern const char* const kTest;
extern const char* const kReadme;

} // namespace lathe::exporter::embedded
