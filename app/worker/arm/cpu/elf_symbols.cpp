// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/elf_symbols.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <elf.h>

namespace lathe::arm {
namespace {

/// Copies a structure out of the bytes; false when it does not lie inside.
template <class T>
bool readAt(std::string_view bytes, std::uint64_t offset, T& out)
{
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T))
        return false;
    std::memcpy(&out, bytes.data() + offset, sizeof(T));
    return true;
}

std::string_view slice(std::string_view bytes, std::uint64_t offset, std::uint64_t size)
{
    if (offset > bytes.size() || bytes.size() - offset < size)
        return {};
    return bytes.substr(offset, size);
}

std::string_view nameAt(std::string_view strings, std::uint32_t offset)
{
    if (offset >= strings.size())
        return {};
    const std::string_view rest = strings.substr(offset);
    return rest.substr(0, rest.find('\0'));
}

} // namespace

Result<std::vector<std::string>> exportedFunctions(std::string_view elf, std::string_view prefix)
{
    Elf64_Ehdr header;
    if (!readAt(elf, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0
        || header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
        return fail(ErrorCode::Parse, "The file is not a 64-bit little-endian ELF object.");
    for (std::uint32_t i = 0; i < header.e_shnum; ++i) {
        Elf64_Shdr section, stringSection;
        if (!readAt(elf, header.e_shoff + std::uint64_t{i} * sizeof section, section))
            return fail(ErrorCode::Parse, "The ELF file's section table is cut off.");
        if (section.sh_type != SHT_DYNSYM)
            continue;
        if (section.sh_link >= header.e_shnum
            || !readAt(elf,
                       header.e_shoff + std::uint64_t{section.sh_link} * sizeof section,
                       stringSection))
            return fail(ErrorCode::Parse, "The ELF file's dynamic symbols have no names.");
        const std::string_view symbols = slice(elf, section.sh_offset, section.sh_size);
        const std::string_view strings = slice(elf, stringSection.sh_offset, stringSection.sh_size);
        std::vector<std::string> names;
        Elf64_Sym symbol;
        for (std::uint64_t at = 0; readAt(symbols, at, symbol); at += sizeof symbol) {
            const std::string_view name = nameAt(strings, symbol.st_name);
            if (symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC
                && name.size() > prefix.size() && name.substr(0, prefix.size()) == prefix)
                names.emplace_back(name.substr(prefix.size()));
        }
        std::sort(names.begin(), names.end());
        names.erase(std::unique(names.begin(), names.end()), names.end());
        return names;
    }
    return fail(ErrorCode::Parse, "The ELF file has no dynamic symbol table.");
}

} // namespace lathe::arm
