#!/usr/bin/env python3
# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""The accept tier draws its inputs anew; what was computed from the old ones must not judge the new.

accept_after_full.py LATHE_WORKER"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "redteam"), str(HERE.parent / "integration")]
import protocol_client  # noqa: E402
from kernels import KERNELS  # noqa: E402


def main():
    _, _, (fmt, files), _ = next(kernel for kernel in KERNELS if kernel[1] == "linear")
    source = (HERE.parent / "redteam/tasks/linear.py").read_text()
    worker = protocol_client.Worker([sys.argv[1], "serve"])
    bad = 0
    for tier in ("full", "accept", "accept"):
        request = worker.start(source, files, fmt, tier=tier, until="verify", against=["eager"], task={"weights": "mutable"})
        outcome = worker.wait(request, 200)
        verdict = (outcome["done"] or {}).get("verdict")
        weights = [e["gate"]["status"] for e, _ in outcome["events"] if e["event"] == "gate" and e["gate"]["name"] == "weights"]
        right = verdict == "correct" and weights == ["pass"]
        bad += not right
        print(f"{'ok' if right else 'BAD'} {tier}: {verdict}, weights {weights} {'' if right else protocol_client.words_of(outcome)[:300]}")
    worker.close()
    return 1 if bad else 0


sys.exit(main())
