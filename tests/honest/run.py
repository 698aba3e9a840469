#!/usr/bin/env python3
# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""Honest kernels through every correctness gate: not one may be refused.

run.py LATHE_WORKER [--seeds N] [--slow] [--tier quick|full] [PART OF A NAME...]

Every seed is a variant of the task with weights and inputs of its own. --slow adds kernels that run a compiler when
they are loaded."""
import argparse
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "redteam"), str(HERE.parent / "integration")]
import protocol_client  # noqa: E402
from kernels import FLAGS, KERNELS  # noqa: E402

# name: (source, members of the task)
TASKS = {
    "matmul": ("matmul", {}),
    "row_sums": ("row_sums", {}),
    "softmax": ("softmax", {}),
    "attention": ("attention", {}),
    "layernorm": ("layernorm", {}),
    "linear": ("linear", {"weights": "mutable"}),
    "linear_frozen": ("linear", {"weights": "frozen"}),
    "gelu_bf16": ("gelu_bf16", {"weights": "mutable"}),
    "gelu_frozen": ("gelu_bf16", {"weights": "frozen"}),
    "several": ("several", {}),
    "views": ("views", {}),
    "histogram": ("histogram", {}),
    "batchnorm": ("batchnorm", {"mode": "train"}),
    "accumulate": ("accumulate", {"mutates": [0]}),
    "moving_average": ("moving_average", {}),
    "cleaned": ("cleaned", {}),
    "tiny_numbers": ("tiny_numbers", {}),
}


def source_of(task):
    name = TASKS[task][0] + ".py"
    own = HERE / "tasks" / name
    return (own if own.exists() else HERE.parent / "redteam" / "tasks" / name).read_text()


def evaluate(worker, task, candidate, seeds, tier, flags):
    variants = [{"name": f"seed{n}", "headline": n == 0} for n in range(seeds)]
    fmt, files = candidate
    request = worker.start(source_of(task), files, fmt, variants=variants, tier=tier, against=["eager"], flags=flags,
                           only=[v["name"] for v in variants],
                           task={"importTimeoutSeconds": 300, "forwardTimeoutSeconds": 120, **TASKS[task][1]})
    return worker.wait(request, 1200)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("worker")
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--tier", default="full")
    options = parser.parse_args()
    worker = protocol_client.Worker([options.worker, "serve"])
    refused, count, begin = 0, 0, time.monotonic()
    order = list(TASKS)
    for name, task, candidate, slow in sorted(KERNELS, key=lambda kernel: order.index(kernel[1])):
        if (slow and not options.slow) or (options.parts and not any(part in name for part in options.parts)):
            continue
        start = time.monotonic()
        outcome = evaluate(worker, task, candidate, options.seeds, options.tier, FLAGS.get(name, ()))
        verdict = (outcome["done"] or {}).get("verdict") or "failure"
        warned = [e["gate"]["name"] for e, _ in outcome["events"] if e["event"] == "gate" and e["gate"]["status"] == "warn"]
        count += 1
        refused += verdict != "correct"
        print(f"{'ok' if verdict == 'correct' else 'BAD':4} {name:52} {task:16} {verdict:10} "
              f"{time.monotonic() - start:5.1f} s {'warned: ' + ', '.join(warned) if warned else ''}", flush=True)
        if verdict != "correct":
            print("     " + protocol_client.words_of(outcome)[:800], flush=True)
    worker.close()
    print(f"{count} honest kernels, {options.seeds} seeds each: {refused} refused, {time.monotonic() - begin:.0f} s")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
