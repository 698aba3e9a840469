#!/usr/bin/env python3
# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""Honest kernels through every correctness gate: not one may be refused.

run.py LATHE_WORKER [--seeds N] [--slow] [--bench] [--tier quick|full] [PART OF A NAME...]

Every seed is a variant of the task with weights and inputs of its own. --slow adds kernels that run a compiler when
they are loaded. --bench times them as well, so that the gates of the timing have their say."""
import argparse
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "redteam"), str(HERE.parent / "integration")]
import batch  # noqa: E402
import protocol_client  # noqa: E402
from kernels import FLAGS, KERNELS  # noqa: E402

# name: (source, members of the task)
TASKS = {
    "linear_frozen": ("linear", {"weights": "frozen"}),
    "gelu_frozen": ("gelu_bf16", {"weights": "frozen"}),
    "batchnorm": ("batchnorm", {"mode": "train", "buffers": "compare"}),
    "moving_average": ("moving_average", {"buffers": "compare"}),
    "accumulate": ("accumulate", {"mutates": [0]}),
}
LIMITS = {"importTimeoutSeconds": 300, "forwardTimeoutSeconds": 120}


def task_of(name):
    source, members = TASKS.get(name, (name, {}))
    own = HERE / "tasks" / (source + ".py")
    text = (own if own.exists() else HERE.parent / "redteam" / "tasks" / (source + ".py")).read_text()
    return text, members


def groups(kernels):
    """Kernels that one request can hold: the same members of the task, nothing special in the build."""
    found = {}
    for name, task, candidate, slow in kernels:
        source, members = task_of(task)
        alone = (name,) if slow or name in FLAGS else ()
        found.setdefault((repr(members), alone), (members, []))[1].append((name, source, candidate))
    return found.values()


def run_group(worker, members, kernels, options):
    source, (fmt, files), variants = batch.combine(kernels, options.seeds)
    request = worker.start(source, files, fmt, variants=variants, tier=options.tier, against=["eager"],
                           only=[v["name"] for v in variants], flags=FLAGS.get(kernels[0][0], ()),
                           until="bench" if options.bench else "verify", task={**LIMITS, **members})
    return worker.wait(request, 3600)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("worker")
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--bench", action="store_true")
    parser.add_argument("--tier", default="full")
    options = parser.parse_intermixed_args()
    wanted = [kernel for kernel in KERNELS if (options.slow or not kernel[3])
              and (not options.parts or any(part in kernel[0] for part in options.parts))]
    worker = protocol_client.Worker([options.worker, "serve"])
    refused, begin = 0, time.monotonic()
    waiting = list(groups(wanted))
    while waiting:
        members, kernels = waiting.pop(0)
        start = time.monotonic()
        outcome = run_group(worker, members, kernels, options)
        verdict = (outcome["done"] or {}).get("verdict") or "failure"
        warned = [e["gate"]["reason"] for e, _ in outcome["events"]
                  if e["event"] == "gate" and e["gate"]["status"] == "warn"]
        print(f"{'ok' if verdict == 'correct' else 'BAD':4} {verdict:12} {time.monotonic() - start:6.1f} s  "
              f"{members or 'defaults'}: {', '.join(name for name, _, _ in kernels)}", flush=True)
        for text in warned:
            print("     warned: " + text, flush=True)
        if verdict != "correct":
            print("     " + protocol_client.words_of(outcome)[:600], flush=True)
            if len(kernels) == 1:
                refused += 1
            else:  # which of them?
                waiting = [(members, [kernel]) for kernel in kernels] + waiting
    worker.close()
    print(f"{len(wanted)} honest kernels, {options.seeds} seeds each: {refused} refused, {time.monotonic() - begin:.0f} s")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
