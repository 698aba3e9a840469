# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""Drives a real `lathe-worker serve` through one honest candidate and several that misbehave, on either device.

gpu_spine.py --device cuda|cpu --task FOLDER --solution FOLDER --out FOLDER -- WORKER COMMAND...
Writes spine.json and one Chrome trace per arm into --out; prints one line a case, "ok" or "FAIL" first."""
import argparse
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "integration"))
from protocol_client import Worker, words_of  # noqa: E402

CUDA_KERNEL = r"""
#include <lathe/kernel.h>
#include <cuda_runtime.h>
__global__ void misbehave(unsigned* x, unsigned* y) { BODY }
static void run(const lathe::Tensor& x, const lathe::Tensor&, const lathe::Tensor&, const lathe::Tensor& y,
                const lathe::Tensor&, double)
{
    misbehave<<<1, 32, 0, lathe::cudaStream(x)>>>(x.data<unsigned>(), y.data<unsigned>());
}
LATHE_EXPORT(rmsnorm_residual, run)
""".replace("x.data<unsigned>()", "static_cast<unsigned*>(x.data<void>())").replace(
    "y.data<unsigned>()", "static_cast<unsigned*>(y.data<void>())")
CPU_KERNEL = r"""
#include <lathe/kernel.h>
static void misbehave(volatile unsigned* x, volatile unsigned* y) { BODY }
static void run(const lathe::Tensor& x, const lathe::Tensor&, const lathe::Tensor&, const lathe::Tensor& y,
                const lathe::Tensor&, double)
{
    misbehave(static_cast<unsigned*>(x.data<void>()), static_cast<unsigned*>(y.data<void>()));
}
LATHE_EXPORT(rmsnorm_residual, run)
"""
BODIES = {
    "cuda": {"write_input": "x[threadIdx.x] = 7u; y[0] = 0u;", "fault": "*(volatile unsigned*)16 = 1u; y[0] = x[0];",
             "hang": "while (x[0] != 0x7fc12345u || true) __nanosleep(1000); y[0] = 1u;"},
    "cpu": {"write_input": "x[0] = 7u; y[0] = 0u;", "fault": "*(volatile unsigned*)16 = 1u; y[0] = x[0];",
            "hang": "for (;;) y[0] = x[0];"},
}
# Writing an input: the fault ends the process; where the judge can tell that it was an input, it says "wrong" and why.
EXPECTED = {"write_input": ["crashed", "rejected", "wrong"], "fault": ["crashed"], "hang": ["timeout"], "wrong": ["wrong"]}
HANG_DEADLINE_S = 8


def literal(value):
    return repr(value)


def read_task(folder):
    with open(os.path.join(folder, "task.json"), encoding="utf-8") as file:
        task = json.load(file)
    with open(os.path.join(folder, task.get("reference", "reference.py")), encoding="utf-8") as file:
        source = file.read()
    variants = []
    for variant in task["variants"]:
        row = {k: v for k, v in variant.items() if k != "constants"}
        row["constants"] = {k: literal(v) for k, v in variant.get("constants", {}).items()}
        variants.append(row)
    keep = ("precision", "mode", "weights", "mutates", "libraries", "tolerance", "stochastic")
    spec = {k: task[k] for k in keep if k in task}
    spec["key"] = "starter/" + os.path.basename(os.path.abspath(folder))
    return source, variants, spec


def elements(variant):
    product = 1
    for value in variant.get("constants", {}).values():
        product *= int(value) if value.isdigit() else 1
    return product


def read_solution(folder):
    files = {}
    for base, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(base, name)
            with open(path, encoding="utf-8") as file:
                files[os.path.relpath(path, folder)] = file.read()
    return files


def misbehaving(files, device, body):
    kernel = (CUDA_KERNEL if device == "cuda" else CPU_KERNEL).replace("BODY", BODIES[device][body])
    name = "kernels/misbehave." + ("cu" if device == "cuda" else "cpp")
    return {"model_new.py": files["model_new.py"], name: kernel}


def wrong_in_one_element(files):
    model = files["model_new.py"].replace("        return y, h", "        y.view(-1)[-1] += 8\n        return y, h")
    assert model != files["model_new.py"]
    return {**files, "model_new.py": model}


class Spine:
    def __init__(self, options, worker):
        self.options = options
        self.worker = worker
        self.source, self.variants, self.spec = read_task(options.task)
        self.files = read_solution(options.solution)
        self.rows = []
        fitting = [v for v in self.variants if v.get("device", "any") in ("any", options.device) and not v.get("hidden")]
        self.small = [min(fitting, key=elements)["name"]]  # what misbehaves need not be large

    def run(self, name, files, expected, tier="quick", until="verify", timeout=120, task=None, words=(), **extra):
        started = time.monotonic()
        request = self.worker.start(self.source, files, variants=self.variants, task={**self.spec, **(task or {})},
                                    device=self.options.device, tier=tier, until=until, timeoutSeconds=timeout, **extra)
        try:
            outcome = self.worker.wait(request, timeout + 30)
        except (TimeoutError, EOFError) as error:
            outcome = {"done": None, "failure": {"message": str(error)}, "events": []}
        seconds = time.monotonic() - started
        done = outcome["done"] or {}
        verdict = done.get("verdict")
        alive = self.worker.process.poll() is None
        row = {"case": name, "verdict": verdict, "expected": expected, "seconds": round(seconds, 3), "tier": tier,
               "reason": done.get("reason") or (outcome["failure"] or {}).get("message", ""),
               "ok": verdict in expected and alive and all(word in words_of(outcome) for word in words), "worker_pid": self.worker.process.pid, "worker_alive": alive,
               "hello_pid": self.worker.hello.get("pid"), "done": done, "failure": outcome["failure"],
               "said": words_of(outcome)[:2000]}
        row.update(self.collect(name, outcome))
        self.rows.append(row)
        print(f"{'ok' if row['ok'] else 'FAIL':4} {name:16} {verdict or 'no verdict':12} {seconds:7.2f} s  {row['reason'][:150]}",
              flush=True)
        return row

    def collect(self, name, outcome):
        """What the events of one evaluation said; traces go to files."""
        out = {"gates": [], "timings": [], "comparisons": [], "traces": [], "warnings": [], "build": None, "log": ""}
        for event, attachments in outcome["events"]:
            kind = event.get("event")
            if kind == "gate":
                out["gates"].append(event["gate"])
            elif kind == "timing":
                row = dict(event.get("row", event.get("timing", {})))
                row.pop("samplesUs", None)
                out["timings"].append(row)
            elif kind == "comparison":
                out["comparisons"].append(event["comparison"])
            elif kind == "build":
                out["build"] = event["report"]
                out["log"] += attachments[0].decode(errors="replace")[-4000:] if attachments else ""
            elif kind == "warning":
                out["warnings"].append(event.get("text", ""))
            elif kind == "log":
                out["log"] += event.get("text", "")[-4000:]
            elif kind == "trace" and attachments:
                out["traces"].append(self.keep_trace(name, event, attachments[0]))
        out["log"] = out["log"][-8000:]
        return out

    def keep_trace(self, name, event, data):
        arm = event.get("arm", "arm").replace(":", "-")
        path = os.path.join(self.options.out, f"trace-{name}-{arm}-{event.get('variant', '')}.json")
        if len(data) < 8 << 20:
            with open(path, "wb") as file:
                file.write(data)
        trace = json.loads(data)
        spans = trace["traceEvents"] if isinstance(trace, dict) else trace
        kernels = [s for s in spans if s.get("ph") == "X" and s.get("cat") == "kernel"]
        return {"arm": event.get("arm"), "variant": event.get("variant"), "calls": event.get("calls"),
                "events": len(spans), "kernels": len(kernels), "kernel_us": round(sum(s["dur"] for s in kernels), 3),
                "names": sorted({s["name"] for s in kernels})[:12]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", choices=["cuda", "cpu"], required=True)
    parser.add_argument("--task", required=True)
    parser.add_argument("--solution", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--against", default="eager,compile:default")
    parser.add_argument("--timeout", type=float, default=200, help="of the full evaluation, in seconds")
    parser.add_argument("worker", nargs="+")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    started = time.monotonic()
    worker = Worker(options.worker)
    print(f"ok   worker started   pid {worker.hello.get('pid')} in {time.monotonic() - started:.2f} s", flush=True)
    spine = Spine(options, worker)
    files = spine.files
    try:
        small = {"only": spine.small}
        spine.run("honest", files, ["correct"], timeout=options.timeout)
        spine.run("write_input", misbehaving(files, options.device, "write_input"), EXPECTED["write_input"],
                  words=["illegal"] if options.device == "cuda" else ["input"], **small)
        spine.run("fault", misbehaving(files, options.device, "fault"), EXPECTED["fault"], **small)
        spine.run("honest_again", files, ["correct"], **small)
        spine.run("hang", misbehaving(files, options.device, "hang"), EXPECTED["hang"],
                  task={"forwardTimeoutSeconds": HANG_DEADLINE_S}, **small)
        spine.run("honest_after", files, ["correct"], **small)
        spine.run("wrong", wrong_in_one_element(files), EXPECTED["wrong"], **small)
        spine.run("full", files, ["correct"], tier="full", until="profile", timeout=options.timeout,
                  against=options.against.split(","))
    finally:
        worker.close()
        pids = {row["hello_pid"] for row in spine.rows} | {row["worker_pid"] for row in spine.rows}
        result = {"device": options.device, "hello": worker.hello, "rows": spine.rows, "pids": sorted(map(str, pids))}
        with open(os.path.join(options.out, "spine.json"), "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
    for row in spine.rows[-1:]:
        for timing in row["timings"]:
            print(f"     {timing.get('variant', ''):18} {timing.get('arm', ''):16} {timing.get('protocol', ''):5}"
                  f" {timing.get('medianUs', 0):12.2f} us  +/- {timing.get('cvPercent', 0):.2f} %  n {timing.get('samples')}")
        for pair in row["comparisons"]:
            print(f"     {pair.get('variant', ''):18} vs {pair.get('against', ''):16} x {pair.get('ratio', 0):.3f}"
                  f" [{pair.get('low', 0):.3f}, {pair.get('high', 0):.3f}] {pair.get('verdict', '')}")
        for trace in row["traces"]:
            print(f"     trace {trace['arm']} {trace['variant']}: {trace['kernels']} kernels, {trace['kernel_us']} us")
    sys.exit(0 if all(row["ok"] for row in spine.rows) else 1)


if __name__ == "__main__":
    main()
