// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "diagnostics.h"

#include <lathe/base/text.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cxxabi.h>
#include <memory>
#include <optional>
#include <utility>

namespace lathe::worker {
namespace {

using protocol::Diagnostic;
using protocol::KernelInfo;

std::optional<int> toNumber(std::string_view text)
{
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() && !text.empty()
               ? std::optional(value)
               : std::nullopt;
}

/// "kernels/a.cpp:12:5", "kernels/a.cpp:12", "kernels/a.cu(12)" or just a file or program.
void readPlace(std::string_view place, Diagnostic& diagnostic)
{
    if (const auto open = place.rfind('(');
        place.ends_with(')') && open != std::string_view::npos) {
        const auto inside = place.substr(open + 1, place.size() - open - 2);
        const auto comma = inside.find(',');
        if (const auto line = toNumber(inside.substr(0, comma))) {
            diagnostic.file = std::string(place.substr(0, open));
            diagnostic.line = *line;
            diagnostic.column = comma == std::string_view::npos
                                    ? 0
                                    : toNumber(inside.substr(comma + 1)).value_or(0);
            return;
        }
    }
    std::array<int, 2> numbers = {0, 0};
    std::size_t count = 0;
    while (count < numbers.size()) {
        const auto colon = place.rfind(':');
        const auto number =
            colon == std::string_view::npos ? std::nullopt : toNumber(place.substr(colon + 1));
        if (!number) {
            break;
        }
        numbers[count++] = *number;
        place = place.substr(0, colon);
    }
    diagnostic.file = std::string(place);
    diagnostic.line = count == 2 ? numbers[1] : numbers[0];
    diagnostic.column = count == 2 ? numbers[0] : 0;
}

/// Tools that speak for themselves: their name is not a file of the candidate.
bool isTool(std::string_view name)
{
    const auto slash = name.rfind('/');
    name = name.substr(slash == std::string_view::npos ? 0 : slash + 1);
    constexpr std::array<std::string_view, 11> kTools = {
        "g++", "c++", "gcc", "cc1plus", "collect2", "ld", "nvcc", "ptxas", "as", "cicc", "nvlink"};
    return std::find(kTools.begin(), kTools.end(), trimmed(name)) != kTools.end()
           || name.find("g++") != std::string_view::npos;
}

/// "place: severity: message" with the compilers' variants of the middle part.
std::optional<Diagnostic> parseSeverity(std::string_view line)
{
    constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kMarks = {
        {{": fatal error: ", "error"},
         {": error: ", "error"},
         {": warning: ", "warning"},
         {": note: ", "note"},
         {": Error: ", "error"}, // the assembler's
         {": Warning: ", "warning"},
         {": error #", "error"},
         {": warning #", "warning"},
         {" fatal   : ", "error"},
         {" error   : ", "error"},
         {" warning : ", "warning"}}};
    std::size_t best = std::string_view::npos;
    std::pair<std::string_view, std::string_view> found;
    for (const auto& mark : kMarks) {
        if (const auto at = line.find(mark.first); at < best) {
            best = at;
            found = mark;
        }
    }
    if (best == std::string_view::npos) {
        return std::nullopt;
    }
    Diagnostic diagnostic;
    diagnostic.severity = std::string(found.second);
    std::string_view message = line.substr(best + found.first.size());
    if (found.first.ends_with('#')) {
        const auto colon = message.find(": ");
        message = colon == std::string_view::npos ? message : message.substr(colon + 2);
    }
    diagnostic.message = std::string(trimmed(message));
    const std::string_view place = line.substr(0, best);
    if (!isTool(place)) {
        readPlace(place, diagnostic);
    }
    // What the compiler hands to the assembler is no file of the candidate.
    if (diagnostic.file.starts_with("/tmp/cc") && diagnostic.file.ends_with(".s")) {
        diagnostic.file.clear();
        diagnostic.line = diagnostic.column = 0;
    }
    return diagnostic;
}

/// The linker names a symbol that nobody defines: "kernels/a.cpp:3: undefined reference to `f'".
std::optional<Diagnostic> parseLinker(std::string_view line)
{
    const auto at = line.find("undefined reference to ");
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    Diagnostic diagnostic;
    diagnostic.severity = "error";
    diagnostic.message = std::string(trimmed(line.substr(at)));
    std::string_view place = line.substr(0, at);
    while (!place.empty() && (place.back() == ' ' || place.back() == ':')) {
        place.remove_suffix(1);
    }
    // "/usr/bin/ld: a.o: in function `f()': kernels/a.cpp:3" or "kernels/a.cpp:3"; "(.text+0x9)"
    // without debug lines.
    if (const auto space = place.rfind(' '); space != std::string_view::npos) {
        place = place.substr(space + 1);
    }
    if (place.find("(.") == std::string_view::npos && !isTool(place)) {
        readPlace(place, diagnostic);
    }
    return diagnostic;
}

std::string demangled(std::string_view mangled)
{
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(std::string(mangled).c_str(), nullptr, nullptr, &status), &std::free);
    return status == 0 && text ? std::string(text.get()) : std::string(mangled);
}

/// The number before a unit: 1024 in "... 1024 bytes smem".
std::optional<std::int64_t> numberBefore(std::string_view line, std::string_view unit)
{
    const auto at = line.find(unit);
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    const auto before = line.substr(0, at);
    const auto start = before.find_last_not_of("0123456789");
    const auto digits = toNumber(before.substr(start == std::string_view::npos ? 0 : start + 1));
    return digits ? std::optional<std::int64_t>(*digits) : std::nullopt;
}

} // namespace

std::vector<Diagnostic> parseDiagnostics(std::string_view log)
{
    std::vector<Diagnostic> found;
    bool exitRepeated = false; // collect2 repeats that ld failed
    for (const std::string& line : splitLines(log)) {
        if (line.starts_with("ptxas info") || line.starts_with(' ')) {
            continue;
        }
        auto diagnostic = parseLinker(line);
        if (!diagnostic) {
            diagnostic = parseSeverity(line);
        }
        if (!diagnostic) {
            continue;
        }
        if (diagnostic->message.find("ld returned") != std::string::npos) {
            exitRepeated = true;
            if (std::any_of(found.begin(), found.end(), [](const auto& d) {
                    return d.severity == "error";
                })) {
                continue;
            }
        }
        found.push_back(std::move(*diagnostic));
    }
    if (found.empty() && exitRepeated) {
        found.push_back({"", 0, 0, "error", "the linker failed"});
    }
    return found;
}

std::vector<KernelInfo> parsePtxas(std::string_view log)
{
    std::vector<KernelInfo> kernels;
    for (const std::string& line : splitLines(log)) {
        constexpr std::string_view kEntry = "Compiling entry function '";
        if (const auto at = line.find(kEntry); at != std::string::npos) {
            const auto start = at + kEntry.size();
            KernelInfo kernel;
            kernel.name =
                demangled(std::string_view(line).substr(start, line.find('\'', start) - start));
            kernels.push_back(std::move(kernel));
        } else if (kernels.empty()) {
            continue;
        } else if (line.find(" bytes spill stores") != std::string::npos) {
            kernels.back().spillStoreBytes = numberBefore(line, " bytes spill stores");
            kernels.back().spillLoadBytes = numberBefore(line, " bytes spill loads");
        } else if (const auto registers = numberBefore(line, " registers")) {
            kernels.back().registers = static_cast<int>(*registers);
            kernels.back().sharedBytes = numberBefore(line, " bytes smem").value_or(0);
        }
    }
    return kernels;
}

} // namespace lathe::worker
