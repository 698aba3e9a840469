#!/usr/bin/env python3
# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""What the intervals are worth: unchanged code against itself, and twins that are slower by a known share.

twins.py LATHE_WORKER [--aa N] [--slowed N] [--percent P ...] [--milliseconds MS] [--tier quick|full] [--min-seconds S]

The kernel is a chain of dependent multiply-adds, so its time is its number of steps; a twin takes P per cent more of them.
A/A: how many intervals of two processes of the same code exclude 1 (5 in 100 by construction of the interval, if the
processes differed by nothing else). Slowed: the twin is the candidate, the original its parent; how often the verdict is
"slower", and how often the interval lies below 1."""
import argparse
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/integration"))
import protocol_client  # noqa: E402

REFERENCE = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x * 2


def get_inputs():
    return [torch.randn(4096)]


def get_init_inputs():
    return []
"""
MODEL = """
import lathe_native
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        lathe_native.chain(x, y, {steps})
        return y
"""
KERNEL = """
#include <lathe/kernel.h>

// `steps` multiply-adds, each waiting for the one before.
static void chain(const lathe::Tensor& x, const lathe::Tensor& y, int64_t steps)
{
    double value = 1;
    for (int64_t i = 0; i < steps; ++i) {
        value = value * 0.999999 + 1e-6;
        asm volatile("" : "+m"(value)); // the compiler must not see through the chain
    }
    for (int64_t i = 0; i < x.numel(); ++i)
        y.data<float>()[i] = 2 * x.data<float>()[i];
}
LATHE_EXPORT(chain, chain)
"""


def files(steps):
    return {"model_new.py": MODEL.format(steps=steps), "kernels/chain.cpp": KERNEL}


class Twins:
    def __init__(self, options):
        self.options = options
        self.worker = protocol_client.Worker([options.worker, "serve"])

    def evaluate(self, steps, parent=None):
        out = self.worker.wait(self.worker.start(
            REFERENCE, files(steps), until="bench", tier=self.options.tier, against=["eager"],
            parent=files(parent) if parent else None, minSeconds=self.options.min_seconds), 300)
        if (out["done"] or {}).get("verdict") != "correct":
            raise RuntimeError(protocol_client.words_of(out))
        rows = [e["comparison"] for e, _ in out["events"] if e["event"] == "comparison" and e["comparison"]["protocol"] == "warm"]
        times = [e["row"] for e, _ in out["events"] if e["event"] == "timing" and e["row"]["protocol"] == "warm"]
        return ({(r["arm"], r["against"]): r for r in rows},
                next(r["medianUs"] for r in times if r["arm"] == "candidate"))

    def steps(self):
        """So many that a call takes the wanted time."""
        probe = 300_000
        _, us = self.evaluate(probe)
        return int(probe * self.options.milliseconds * 1000 / us)

    def aa(self, steps, count):
        excluded, widths = 0, []
        for _ in range(count):
            row = self.evaluate(steps)[0]["aa", "candidate"]
            excluded += row["low"] > 1 or row["high"] < 1
            widths.append(50 * (row["high"] - row["low"]))
        widths.sort()
        print(f"A/A: {excluded} of {count} intervals exclude 1; half-width median {widths[len(widths) // 2]:.2f} %, "
              f"90th percentile {widths[9 * len(widths) // 10]:.2f} %", flush=True)

    def slowed(self, steps, percent, count):
        slower = below = 0
        ratios = []
        for _ in range(count):
            row = self.evaluate(round(steps * (1 + percent / 100)), steps)[0]["candidate", "parent"]
            slower += row["verdict"] == "slower"
            below += row["high"] < 1
            ratios.append(row["ratio"])
        ratios.sort()
        print(f"slowed by {percent:g} %: \"slower\" in {slower} of {count}, interval below 1 in {below} of {count}; "
              f"ratio median {ratios[len(ratios) // 2]:.4f}, by the steps {1 / (1 + percent / 100):.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("worker")
    parser.add_argument("--aa", type=int, default=200)
    parser.add_argument("--slowed", type=int, default=100)
    parser.add_argument("--percent", type=float, nargs="*", default=[2, 1])
    parser.add_argument("--milliseconds", type=float, default=6)
    parser.add_argument("--tier", default="quick")
    parser.add_argument("--min-seconds", type=float, default=0.0)
    options = parser.parse_args()
    twins, begun = Twins(options), time.monotonic()
    steps = twins.steps()
    print(f"{steps} steps for {options.milliseconds:g} ms, tier {options.tier}, at least {options.min_seconds:g} s an arm",
          flush=True)
    if options.aa:
        twins.aa(steps, options.aa)
    for percent in options.percent if options.slowed else []:
        twins.slowed(steps, percent, options.slowed)
    twins.worker.close()
    print(f"{time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
