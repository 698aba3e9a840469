# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""What a planted cheat is, and short ways to write one."""
import dataclasses
import textwrap


@dataclasses.dataclass
class Case:
    """A candidate with the verdict it has to get.

    words: alternatives, lower case; one must be in the reason, in a failed gate or in a diagnostic.
    how: the row of docs/guide/redteam.md: by what it is caught, or why it is not.
    caught: False where the truth of today is that nothing sees it.
    twin: a candidate that does the same thing honestly and must be correct.
    probes: names of things that the candidate tries one after the other and reports on; each is a row of its own.
    """

    name: str
    task: str
    candidate: tuple
    verdicts: tuple
    words: tuple = ("",)
    how: str = ""
    caught: bool = True
    twin: tuple = None
    until: str = "verify"
    tier: str = "quick"
    flags: tuple = ()
    slowest_us: float = 0  # the candidate's median must be at least this
    warns: str = ""  # a gate that must warn
    never: tuple = ()  # texts that must be nowhere in what the worker sends
    probes: dict = None


HEAD = """import ctypes, gc, os, sys, threading, time
import torch
import torch.nn as nn
"""

# How each task's ModelNew begins: the constructor's parameters and what it makes.
SHAPES = {
    "matmul": ("", "", "a, b"),
    "matmul_timed": ("", "", "a, b"),
    "matmul_heavy": ("", "", "a, b"),
    "rmsnorm": ("hidden", "self.weight = nn.Parameter(torch.empty(hidden))", "x"),
    "linear": ("features, outputs", "self.linear = nn.Linear(features, outputs)", "x"),
    "linear_frozen": ("features, outputs", "self.linear = nn.Linear(features, outputs)", "x"),
    "batchnorm": ("channels", "self.norm = nn.BatchNorm2d(channels)", "x"),
    "accumulate": ("", "", "acc, x"),
    "cleaned": ("", "", "x"),
    "tiny_numbers": ("", "", "x"),
    "no_libraries": ("", "", "a, b"),
}


def indented(text, by):
    return textwrap.indent(textwrap.dedent(text).strip("\n"), " " * by)


def model(task, body, top="", init="", extra=""):
    """Source of a ModelNew for the task. top: module level; init: end of __init__; extra: further methods."""
    parameters, made, arguments = SHAPES[task]
    lines = [HEAD, textwrap.dedent(top), "class ModelNew(nn.Module):",
             f"    def __init__(self{', ' if parameters else ''}{parameters}):",
             "        super().__init__()"]
    lines += [indented(part, 8) for part in (made, init) if part.strip()]
    lines += ["", f"    def forward(self, {arguments}):", indented(body, 8)]
    if extra:
        lines += ["", indented(extra, 4)]
    return "\n".join(lines) + "\n"


def python(task, body, top="", init="", extra="", files=None):
    """A candidate in Python alone."""
    return "modelnew", {"model_new.py": model(task, body, top, init, extra), **(files or {})}


def native(task, body, kernels, top="import lathe_native", init="", extra="", files=None):
    """A candidate with kernels; kernels is one C++ text."""
    text = "#include <lathe/kernel.h>\n" + textwrap.dedent(kernels)
    return "native", {"model_new.py": model(task, body, top, init, extra), "kernels/kernels.cpp": text, **(files or {})}


MATMUL_KERNEL = """
static void matmul(lathe::Tensor a, lathe::Tensor b, lathe::Tensor c)
{
    const float* left = a.data<float>();
    const float* right = b.data<float>();
    float* out = c.data<float>();
    const int64_t rows = a.size(0), inner = a.size(1), columns = b.size(1);
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t j = 0; j < columns; ++j)
            out[r * columns + j] = 0;
        for (int64_t k = 0; k < inner; ++k)
            for (int64_t j = 0; j < columns; ++j)
                out[r * columns + j] += left[r * inner + k] * right[k * columns + j];
    }
}
LATHE_EXPORT(matmul, matmul);
"""

MATMUL_CALL = """
c = torch.empty(a.shape[0], b.shape[1])
lathe_native.matmul(a, b, c)
return c
"""

# A cheat that kills, forks or fills looks first whether it is alone in a process namespace: few processes, a small
# number of its own, and no login session of anybody. Where it is not, it gives up, so that a failing sandbox harms
# nobody.
ALONE = """
def alone():
    pids = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
    names = []
    for pid in pids:
        try:
            names.append(open(f"/proc/{pid}/comm").read().strip())
        except OSError:
            names.append("?")
    good = len(pids) <= 8 and os.getpid() < 1000 and pids[0] == 1 and names[0] in ("bwrap", "lathe-arm")
    if not good:
        raise RuntimeError("GAVE UP: other processes can be seen: " + " ".join(names)[:200])
    return pids
"""
