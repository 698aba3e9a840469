# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""Records a small torch.profiler trace on the CPU and what Python's json module reads in it."""
import decimal
import json
import os
import pathlib
import sys

import torch

folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
torch.manual_seed(0)
torch.set_num_threads(1)
x = torch.randn(32, 64)
norm = torch.nn.LayerNorm(64)
with torch.no_grad():
    norm(x)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as prof:
        for _ in range(3):
            (norm(x) * x).sum(dim=-1).to(torch.bfloat16)
os.chdir(folder)  # the profiler writes the path it was given into the file
folder = pathlib.Path(".")
path = folder / "torch_cpu.json"
prof.export_chrome_trace(str(path))

document = json.loads(path.read_text(), parse_float=decimal.Decimal)
events = document["traceEvents"]
spans = [e for e in events if e["ph"] == "X" and e.get("cat") != "Trace"]


def ns(value):
    return int((decimal.Decimal(value) * 1000).to_integral_value(decimal.ROUND_HALF_UP))


names = {}
for e in spans:
    row = names.setdefault(e["name"], {"count": 0, "totalNs": 0})
    row["count"] += 1
    row["totalNs"] += ns(e["dur"])
busy, reached = 0, None
for start, end in sorted((ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])) for e in spans if e["cat"] == "cpu_op"):
    if reached is None or start > reached:
        busy, reached = busy + end - start, end
    elif end > reached:
        busy, reached = busy + end - reached, end
expected = {
    "spans": len(spans),
    "others": sum(1 for e in events if e["ph"] != "M") - len(spans),
    "spanNs": max(ns(e["ts"]) + ns(e["dur"]) for e in spans) - min(ns(e["ts"]) for e in spans),
    "operatorBusyNs": busy,
    "names": names,
}
(folder / "torch_cpu.expected.json").write_text(json.dumps(expected, indent=1, sort_keys=True) + "\n")
