#!/usr/bin/env python3
# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""Holds the eager and compiled medians of the worker's baselines against torch.utils.benchmark.

against_torch_benchmark.py LATHE_WORKER TASK_FOLDER [ROUNDS] [VARIANT...]   (run it with the environment's Python)

The two take turns, round by round, so that a machine whose speed wanders from minute to minute wanders for both; the
result is the median over the rounds of the ratio of their medians. Same threads, same cores, as many input sets, and
glibc's allocator set as every arm has it."""
import json
import os
import pathlib
import statistics
import subprocess
import sys

if "MALLOC_MMAP_MAX_" not in os.environ:
    # What the arm does with mallopt: no page is given back between calls.
    env = dict(os.environ, MALLOC_MMAP_MAX_="0", MALLOC_TRIM_THRESHOLD_=str((1 << 31) - 1), MALLOC_TOP_PAD_=str(64 << 20))
    sys.exit(subprocess.run([sys.executable, *sys.argv], env=env).returncode)

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/integration"))
import protocol_client  # noqa: E402

task = pathlib.Path(sys.argv[2])
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
spec = json.loads((task / "task.json").read_text())
source = (task / "reference.py").read_text()
wanted = sys.argv[4:]
rows = [v for v in spec["variants"] if v.get("device", "any") in ("any", "cpu") and not v.get("hidden")
        and (not wanted or v["name"] in wanted)]
variants = [{"name": v["name"], "device": v.get("device", "any"), "headline": v.get("headline", False),
             "constants": {k: repr(c) for k, c in v.get("constants", {}).items()}} for v in rows]
environment = {k: v for k, v in os.environ.items() if not k.startswith("MALLOC_")}
worker = protocol_client.Worker([sys.argv[1], "serve"], dict(environment, LATHE_PYTHON=sys.executable))


def ours(name):
    request = worker.start(source, method="baseline", variants=variants, only=[name], tier="full", until="bench",
                           task={"weights": spec.get("weights", "mutable")})
    out = worker.wait(request, 600)
    timings = [event["row"] for event, _ in out["events"] if event["event"] == "timing"]
    if not timings:
        raise SystemExit(f"{name}: {out['done'] or out['failure']}")
    return {row["arm"]: row["medianUs"] for row in timings if row["protocol"] == "warm"}, out["done"]


import torch  # noqa: E402
import torch.utils.benchmark as benchmark  # noqa: E402

worst = 0.0
for variant in rows:
    # The first round of each side compiles.
    _, done = ours(variant["name"])
    conditions = done["conditions"]
    os.sched_setaffinity(0, {int(c) for c in conditions["affinity"].split(",")})
    torch.set_num_threads(conditions["threads"])
    text = source
    for name, value in variant.get("constants", {}).items():
        text = "\n".join(f"{name} = {value!r}" if line.startswith(f"{name} = ") else line for line in text.splitlines())
    space = {}
    exec(compile(text, str(task / "reference.py"), "exec"), space)
    model = space["Model"](*space["get_init_inputs"]()).eval()
    sets = [space["get_inputs"]() for _ in range(2)]
    with torch.no_grad():
        timers = {}
        for arm, fn in (("eager", model), ("compile:default", torch.compile(model))):
            fn(*sets[0])
            timers[arm] = benchmark.Timer("for s in sets: fn(*s)", globals={"fn": fn, "sets": sets},
                                          num_threads=conditions["threads"])
            timers[arm].blocked_autorange(min_run_time=0.5)
        ratios = {arm: [] for arm in timers}
        last = {}
        for _ in range(rounds):
            medians, _ = ours(variant["name"])
            for arm, timer in timers.items():
                peer = timer.blocked_autorange(min_run_time=1.5).median / len(sets) * 1e6
                if arm in medians:
                    ratios[arm].append(medians[arm] / peer)
                    last[arm] = (medians[arm], peer)
    for arm, values in ratios.items():
        if not values:
            print(f"{variant['name']:16} {arm:16} did not take part", flush=True)
            worst = float("inf")
            continue
        off = statistics.median(values) - 1
        worst = max(worst, abs(off))
        print(f"{variant['name']:16} {arm:16} lathe {last[arm][0]:10.1f} us, torch.utils.benchmark {last[arm][1]:10.1f} us, "
              f"{off:+.1%} (rounds {', '.join(f'{v - 1:+.1%}' for v in values)})", flush=True)
worker.close()
print(f"largest difference {worst:.1%}")
sys.exit(0 if worst <= 0.10 else 1)
