#!/usr/bin/env python3
# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""How large an error has to be to be seen: eight tasks whose candidates carry a planted relative error, and kernels that
leave out a hundredth of a reduction or compute in bfloat16 what is declared in float32.

detection.py LATHE_WORKER [--seeds N] [PART OF A TASK'S NAME...]

Errors are multiples of the task's own norm limit, which an honest evaluation tells first. Prints the table of
docs/guide/numbers.md; fails when an error of ten times the limit, a dropped share or bfloat16 passes unseen."""
import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "integration")]
import protocol_client  # noqa: E402

FACTORS = (0.5, 2, 10)
HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
NONE = "        super().__init__()\n"
# name: (constructor's parameters, what it makes, forward's arguments, the result, with 1 % of a reduction left out, with
# bfloat16 inside; the last two where the task has such a thing)
TASKS = {
    "matmul": ("", NONE, "a, b", "a @ b", "a[:, :-DROP(a.shape[1])] @ b[:-DROP(a.shape[1])]",
               "(a.bfloat16() @ b.bfloat16()).float()"),
    "rmsnorm": ("hidden", NONE + "        self.weight = nn.Parameter(torch.empty(hidden))\n", "x",
                "RMS(x, x.pow(2).mean(-1, keepdim=True), self.weight)",
                "RMS(x, x[..., :-DROP(x.shape[-1])].pow(2).sum(-1, keepdim=True) / x.shape[-1], self.weight)",
                "RMS(x.bfloat16(), x.bfloat16().pow(2).mean(-1, keepdim=True), self.weight.bfloat16()).float()"),
    "linear": ("features, outputs", NONE + "        self.linear = nn.Linear(features, outputs)\n", "x",
               "torch.relu(self.linear(x))",
               "torch.relu(x[:, :-DROP(x.shape[1])] @ self.linear.weight[:, :-DROP(x.shape[1])].t() + self.linear.bias)",
               "torch.relu(F.linear(x.bfloat16(), self.linear.weight.bfloat16(), self.linear.bias.bfloat16())).float()"),
    "softmax": ("", NONE, "x", "torch.softmax(x, -1)",
                "x.exp() / x[:, :-DROP(x.shape[1])].exp().sum(-1, keepdim=True)", "torch.softmax(x.bfloat16(), -1).float()"),
    "layernorm": ("width", NONE + "        self.norm = nn.LayerNorm(width)\n", "x", "self.norm(x)",
                  "F.layer_norm(x, x.shape[-1:], self.norm.weight, self.norm.bias)"
                  " + (x.mean(-1, keepdim=True) - x[:, :-DROP(x.shape[1])].sum(-1, keepdim=True) / x.shape[1])"
                  " / x.std(-1, keepdim=True) * self.norm.weight",
                  "F.layer_norm(x.bfloat16(), x.shape[-1:], self.norm.weight.bfloat16(), self.norm.bias.bfloat16()).float()"),
    "row_sums": ("", NONE, "x", "x.sum(-1)", "x[:, :-DROP(x.shape[1])].sum(-1)", "x.bfloat16().sum(-1).float()"),
    "attention": ("", NONE, "q, k, v", "ATTEND(q, k, v)", "ATTEND(q, k[:, :-DROP(k.shape[1])], v[:, :-DROP(v.shape[1])])",
                  "ATTEND(q.bfloat16(), k.bfloat16(), v.bfloat16()).float()"),
    "gelu_bf16": ("features, outputs", NONE + "        self.linear = nn.Linear(features, outputs, dtype=torch.bfloat16)\n", "x",
                  "F.gelu(F.linear(x.float(), self.linear.weight.float(), self.linear.bias.float()))",
                  "F.gelu(F.linear(x[:, :-DROP(x.shape[1])].float(), self.linear.weight[:, :-DROP(x.shape[1])].float(),"
                  " self.linear.bias.float()))", None),
}
HELPERS = """

def DROP(count):
    return max(1, round(count / 100))


def RMS(x, square, weight):
    return x * torch.rsqrt(square + EPS) * weight


def ATTEND(q, k, v):
    return torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1) @ v
"""


def source_of(task):
    own = HERE / "tasks" / f"{task}.py"
    return (own if own.exists() else HERE.parent / "redteam" / "tasks" / f"{task}.py").read_text()


def candidate(task, result, error=0.0, seed=0):
    parameters, made, arguments, _, _, _ = TASKS[task]
    narrow = ".bfloat16()" if task == "gelu_bf16" else ""
    lines = [HEAD + HELPERS.replace("EPS", "1e-6" if "1e-6" in source_of(task) else "1e-5"), "\n", "class ModelNew(nn.Module):",
             f"    def __init__(self{', ' if parameters else ''}{parameters}):", made,
             f"    def forward(self, {arguments}):", f"        result = {result}"]
    if error:
        # Every element is off by that share of itself, up or down.
        lines += [f"        signs = torch.randint(0, 2, result.shape, generator=torch.Generator().manual_seed({seed})) * 2 - 1",
                  f"        result = (result.double() * (1 + {error!r} * signs)).to(result.dtype)"]
    return {"model_new.py": "\n".join([*lines, f"        return result{narrow}"]) + "\n"}


class Detection:
    def __init__(self, program):
        self.worker = protocol_client.Worker([program, "serve"])

    def judge(self, task, files):
        """(verdict, detail of numerics, reason)"""
        out = self.worker.wait(self.worker.start(source_of(task), files, "modelnew", against=["eager"]), 120)
        gates = [e["gate"] for e, _ in out["events"] if e["event"] == "gate" and e["gate"]["name"] == "numerics"]
        return (out["done"] or {}).get("verdict"), gates[0].get("detail", {}) if gates else {}, protocol_client.words_of(out)

    def planted(self, task, seeds):
        """Seen in how many of the seeds, by factor."""
        verdict, detail, why = self.judge(task, candidate(task, TASKS[task][3]))
        if verdict != "correct":
            raise RuntimeError(f"the honest candidate of {task} is {verdict}: {why}")
        limit = detail["normLimit"]
        seen = []
        for factor in FACTORS:
            files = [candidate(task, TASKS[task][3], factor * limit, seed) for seed in range(seeds)]
            seen.append(sum(self.judge(task, one)[0] == "wrong" for one in files))
        return limit, seen


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("worker")
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_intermixed_args()
    detection, bad = Detection(options.worker), []
    print("| task | norm limit | " + " | ".join(f"{f:g} x limit" for f in FACTORS) + " | 1 % left out | bfloat16 inside |")
    print("|---|---|" + "---|" * (len(FACTORS) + 2))
    for task in TASKS:
        if options.parts and not any(part in task for part in options.parts):
            continue
        limit, seen = detection.planted(task, options.seeds)
        cells = [f"{count} of {options.seeds}" for count in seen]
        if seen[-1] < options.seeds:
            bad.append(f"{task}: ten times the limit is seen in {seen[-1]} of {options.seeds} only")
        for what, result in zip(("1 % left out", "bfloat16 inside"), TASKS[task][4:]):
            verdict, detail, why = detection.judge(task, candidate(task, result)) if result else ("-", {}, "")
            cells.append(verdict if verdict in ("wrong", "-") else f"**{verdict}**")
            if verdict not in ("wrong", "refused", "-"):
                bad.append(f"{task}, {what}: {verdict} {why} {detail}")
        print(f"| {task} | {limit:.2g} | " + " | ".join(cells) + " |", flush=True)
    detection.worker.close()
    for problem in bad:
        print("BAD  " + problem)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
