#!/usr/bin/env python3
# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""Edit to quick verdict with the worker warm: wall time, and Lathe's own share of it.

edit_to_verdict.py LATHE_WORKER [RUNS]

Each run changes one comment of the shipped CPU solution (so the build is never a cache hit) and asks for the quick tier.
Own share = wall at the client less compilers, less waiting for the arms' work, less sampling."""
import json
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/integration"))
import protocol_client  # noqa: E402


def literal(value):
    return repr(value)


def main():
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    task = ROOT / "tasks/starter/rmsnorm_residual"
    spec = json.loads((task / "task.json").read_text())
    variants = []
    for row in spec["variants"]:
        if row.get("device", "any") in ("any", "cpu"):
            variants.append({"name": row["name"], "device": row.get("device", "any"), "headline": row.get("headline", False),
                             "hidden": row.get("hidden", False),
                             "constants": {k: literal(v) for k, v in row.get("constants", {}).items()}})
    source = (task / "reference.py").read_text()
    solution = task / "solutions/cpu_fused"
    files = {str(p.relative_to(solution)): p.read_text() for p in sorted(solution.rglob("*")) if p.is_file()}
    kernel = next(name for name in files if name.endswith(".cpp"))
    original = files[kernel]
    worker = protocol_client.Worker([sys.argv[1], "serve"])
    worker.wait(worker.start(source, method="prepare", variants=variants, until="bench"), 120)
    walls, own = [], []
    for run in range(-3, runs):  # three to warm up
        files[kernel] = original + f"\n// edit {run} {time.time_ns()}\n"
        time.sleep(1.0)  # a person types in between; the next sandbox warms up
        start = time.monotonic()
        out = worker.wait(worker.start(source, files, variants=variants, until="bench"), 120)
        wall = time.monotonic() - start
        done = out["done"] or {}
        if done.get("verdict") != "correct":
            print(f"run {run}: {done or out['failure']}", file=sys.stderr)
            continue
        share = wall - done["compilerSeconds"] - done["armSeconds"] - done["samplingSeconds"]
        print(f"run {run:3}: wall {wall:.3f} s, compiler {done['compilerSeconds']:.3f}, arms {done['armSeconds']:.3f}, "
              f"sampling {done['samplingSeconds']:.3f}, own {share:.3f}", flush=True)
        if run >= 0:
            walls.append(wall)
            own.append(share)
    worker.close()
    print(f"{len(own)} runs: wall median {statistics.median(walls):.3f} s, own share median {statistics.median(own):.3f} s, "
          f"largest {max(own):.3f} s")


main()
