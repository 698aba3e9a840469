// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/style/palette.h>

namespace lathe::ui {

const Palette& darkPalette()
{
    static const Palette kDark{
        .bg0 = 0x16181d,
        .bg1 = 0x1c1f26,
        .bg2 = 0x242832,
        .bg3 = 0x2d323e,
        .line = 0x353b48,
        .text = 0xe4e7ed,
        .text2 = 0xa3abba,
        .text3 = 0x838c9d,
        .accent = 0x6aa6ff,
        .onAccent = 0x16181d,
        .selection = 0x2b4368,
        .good = 0x5cc8a8,
        .bad = 0xf0937a,
        .warn = 0xe3bb5b,
        .reference = 0x8a93a6,
        .compiled = 0xb48ee0,
        .candidate = 0x5cc8a8,
        .keyword = 0xb48ee0,
        .typeName = 0x5cc8a8,
        .string = 0xe3bb5b,
        .number = 0xf0937a,
        .comment = 0x7f899b,
        .added = 0x1f3a33,
        .removed = 0x40292a,
        .changed = 0x2b3145,
    };
    return kDark;
}

const Palette& lightPalette()
{
    static const Palette kLight{
        .bg0 = 0xeceef2,
        .bg1 = 0xf7f8fa,
        .bg2 = 0xffffff,
        .bg3 = 0xe4e8ee,
        .line = 0xd3d8e0,
        .text = 0x1b2029,
        .text2 = 0x4d5666,
        .text3 = 0x626c7e,
        .accent = 0x1e62c8,
        .onAccent = 0xffffff,
        .selection = 0xd6e6ff,
        .good = 0x0d7a5c,
        .bad = 0xb3401f,
        .warn = 0x8a6100,
        .reference = 0x697386,
        .compiled = 0x7a4db5,
        .candidate = 0x0d7a5c,
        .keyword = 0x7a3fb0,
        .typeName = 0x0d7a5c,
        .string = 0x8a6100,
        .number = 0xb3401f,
        .comment = 0x687284,
        .added = 0xdff3ec,
        .removed = 0xfbe4dd,
        .changed = 0xe8edf8,
    };
    return kLight;
}

} // namespace lathe::ui
