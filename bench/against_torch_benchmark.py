#!/usr/bin/env python3
# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""Holds the eager and compiled medians of a result document against torch.utils.benchmark.

against_torch_benchmark.py RESULT.json TASK_FOLDER   (run it with the environment's Python)

The same threads, the same cores and glibc's allocator set as every arm has it; the inputs rotate over as many sets as
keep the working set out of the last-level cache, as the warm protocol's input sets do."""
import json
import os
import pathlib
import subprocess
import sys

if "MALLOC_MMAP_MAX_" not in os.environ:
    # What the arm does with mallopt: no page is given back between calls.
    env = dict(os.environ, MALLOC_MMAP_MAX_="0", MALLOC_TRIM_THRESHOLD_=str((1 << 31) - 1), MALLOC_TOP_PAD_=str(64 << 20))
    sys.exit(subprocess.run([sys.executable, *sys.argv], env=env).returncode)

result = json.loads(pathlib.Path(sys.argv[1]).read_text())
task = pathlib.Path(sys.argv[2])
conditions = result["conditions"]
os.sched_setaffinity(0, {int(c) for c in conditions["affinity"].split(",")})

import torch  # noqa: E402
import torch.utils.benchmark as benchmark  # noqa: E402

torch.set_num_threads(conditions["threads"])
spec = json.loads((task / "task.json").read_text())
source = (task / "reference.py").read_text()
worst = 0.0
for variant in spec["variants"]:
    rows = [t for t in result["timings"] if t["variant"] == variant["name"] and t["protocol"] == "warm"]
    if not rows:
        continue
    text = source
    for name, value in variant.get("constants", {}).items():
        lines = text.splitlines()
        text = "\n".join(f"{name} = {value!r}" if line.startswith(f"{name} = ") else line for line in lines)
    space = {}
    exec(compile(text, str(task / "reference.py"), "exec"), space)
    model = space["Model"](*space["get_init_inputs"]()).eval()
    sets = [space["get_inputs"]() for _ in range(4)]
    with torch.no_grad():
        for arm, fn in (("eager", model), ("compile:default", torch.compile(model))):
            row = next((t for t in rows if t["arm"] == arm), None)
            if row is None:
                continue
            fn(*sets[0])
            timer = benchmark.Timer("for s in sets: fn(*s)", globals={"fn": fn, "sets": sets}, num_threads=conditions["threads"])
            peer = timer.blocked_autorange(min_run_time=3).median / len(sets) * 1e6
            off = row["medianUs"] / peer - 1
            worst = max(worst, abs(off))
            print(f"{variant['name']:16} {arm:16} lathe {row['medianUs']:10.1f} us, torch.utils.benchmark {peer:10.1f} us, {off:+.1%}", flush=True)
print(f"largest difference {worst:.1%}")
sys.exit(0 if worst <= 0.10 else 1)
