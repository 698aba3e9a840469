#!/usr/bin/env python3
# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks something up in what `lathe-workbench --widget-report` wrote.

find_widget.py FILE centre|rect|name|value ROLE NAME [STATE]

ROLE is a regular expression for the whole role, NAME for the whole name; STATE one of focused, selected, checked,
disabled, enabled. Several: the first in reading order. Exits with 1 when nothing fits."""
import json
import re
import sys


def fits(widget, role, name, state):
    if state == "enabled":
        return fits(widget, role, name, None) and not widget.get("disabled")
    return (re.fullmatch(role, widget["role"]) and re.fullmatch(name, widget["name"], re.S)
            and (state is None or widget.get(state, False)))


def main():
    path, what, role, name = sys.argv[1:5]
    state = sys.argv[5] if len(sys.argv) > 5 else None
    with open(path, encoding="utf-8") as file:
        found = next((w for w in json.load(file) if fits(w, role, name, state)), None)
    if found is None:
        return 1
    x, y, width, height = found["rect"]
    print({"centre": f"{x + width // 2} {y + height // 2}", "rect": f"{x} {y} {width} {height}"}.get(what)
          or found[what])
    return 0


if __name__ == "__main__":
    sys.exit(main())
