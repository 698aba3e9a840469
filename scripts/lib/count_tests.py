#!/usr/bin/env python3
# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""Counts a CTest JUnit file: names the skipped with their reason and the failed, ends with 'N passed, N failed'."""
import sys
import xml.etree.ElementTree as tree

passed, failed, skipped = [], [], []
try:
    cases = tree.parse(sys.argv[1]).getroot().iter("testcase")
except (OSError, tree.ParseError) as error:
    print(f"no test results: {error}")
    print("0 passed, 1 failed")
    sys.exit(1)
for case in cases:
    name = case.get("name")
    if case.find("failure") is not None or case.get("status") == "fail":
        failed.append(name)
    elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
        out = (case.findtext("system-out") or "").strip().splitlines()
        reason = next((line.strip() for line in reversed(out) if "skip" in line.lower()), "no reason given")
        skipped.append((name, reason))
    else:
        passed.append(name)
for name, reason in skipped:
    print(f"skipped: {name}: {reason}")
for name in failed:
    print(f"failed: {name}")
print(f"{len(passed)} passed, {len(failed)} failed" + (f", {len(skipped)} skipped" if skipped else ""))
sys.exit(1 if failed or not passed else 0)
