// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "elf_exports.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <optional>

namespace lathe::worker {
namespace {

/// A structure at an offset, when it lies within the bytes.
template <class T>
std::optional<T> at(std::string_view bytes, std::uint64_t offset)
{
    if (bytes.size() < sizeof(T) || offset > bytes.size() - sizeof(T)) {
        return std::nullopt;
    }
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

std::optional<std::string_view> sectionBytes(std::string_view bytes, const Elf64_Shdr& section)
{
    if (section.sh_offset > bytes.size() || section.sh_size > bytes.size() - section.sh_offset) {
        return std::nullopt;
    }
    return bytes.substr(section.sh_offset, section.sh_size);
}

} // namespace

Result<std::vector<std::string>> elfExports(std::string_view bytes, std::string_view prefix)
{
    const auto broken = fail(ErrorCode::Parse, "The built library is not a 64-bit ELF file");
    const auto header = at<Elf64_Ehdr>(bytes, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0
        || header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shentsize != sizeof(Elf64_Shdr)) {
        return broken;
    }
    const auto section = [&](std::uint64_t index) -> std::optional<Elf64_Shdr> {
        if (index >= header->e_shnum || header->e_shoff > bytes.size()) {
            return std::nullopt;
        }
        return at<Elf64_Shdr>(bytes, header->e_shoff + index * sizeof(Elf64_Shdr));
    };
    std::vector<std::string> names;
    for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
        const auto symbols = section(i);
        if (!symbols) {
            return broken;
        }
        if (symbols->sh_type != SHT_DYNSYM) {
            continue;
        }
        const auto strings = section(symbols->sh_link);
        const auto table = sectionBytes(bytes, *symbols);
        const auto texts = strings ? sectionBytes(bytes, *strings) : std::nullopt;
        if (!table || !texts) {
            return broken;
        }
        for (std::uint64_t offset = 0; offset + sizeof(Elf64_Sym) <= table->size();
             offset += sizeof(Elf64_Sym)) {
            const auto symbol = at<Elf64_Sym>(*table, offset);
            if (symbol->st_shndx == SHN_UNDEF || symbol->st_name >= texts->size()) {
                continue;
            }
            const std::string_view rest = texts->substr(symbol->st_name);
            const auto name = rest.substr(0, rest.find('\0'));
            if (name.starts_with(prefix)) {
                names.emplace_back(name);
            }
        }
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

} // namespace lathe::worker
