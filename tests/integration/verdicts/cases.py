# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""Candidates that misbehave, each with the verdict it must get and a word its reason must hold.

A case is (name, format, files, verdicts, words). verdicts and words are alternatives: the verdict must be one of the
first, and the reason or a failed gate's reason must hold one of the second (lower case)."""

KERNEL = r"""
#include <lathe/kernel.h>
static void scaledRelu(lathe::Tensor x, lathe::Tensor w, lathe::Tensor y)
{
    const float* in = x.data<float>();
    const float* weight = w.data<float>();
    float* out = y.data<float>();
    const int64_t rows = x.size(0), n = x.size(1);
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t i = 0; i < n; ++i)
            out[r * n + i] = (in[r * n + i] > 0 ? in[r * n + i] : 0) * weight[i];
    /*AFTER*/
}
LATHE_EXPORT(scaled_relu, scaledRelu);
"""

MODEL = """
import torch
import torch.nn as nn
import lathe_native


class ModelNew(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(hidden))

    def forward(self, x):
        y = torch.empty_like(x)
        lathe_native.scaled_relu(x, self.weight, y)
        return y
"""

PLAIN = """
import os, sys, time
import torch
import torch.nn as nn

{top}


class ModelNew(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(hidden))

    def forward(self, x):
{body}
"""


def native(after="", model=MODEL, kernel=KERNEL):
    return "native", {"model_new.py": model, "kernels/scaled_relu.cpp": kernel.replace("/*AFTER*/", after)}


def plain(body, top=""):
    text = PLAIN.format(top=top, body="\n".join("        " + line for line in body.splitlines()))
    return "modelnew", {"model_new.py": text}


RIGHT = "return torch.relu(x) * self.weight"


def case(name, made, verdicts, words=("",)):
    return name, made[0], made[1], verdicts, words


CASES = [
    case("honest native", native(), ["correct"]),
    case("honest torch", plain(RIGHT), ["correct"]),
    case("one wrong element", native("out[77] += 1.0f;"), ["wrong"], ("77", "element", "[0, 77]")),
    case("wrong shape", plain("return (torch.relu(x) * self.weight)[:-1]"), ["wrong"], ("float32[63, 96]",)),
    case("compile error", native("int broken = ;"), ["build_failed"], ("kernels/scaled_relu.cpp", "expected")),
    case("missing symbol", native(model=MODEL.replace("lathe_native.scaled_relu", "lathe_native.no_such_kernel")),
         ["load_failed", "wrong", "crashed"], ("no_such_kernel",)),
    case("undefined function", native("extern void nowhere(); nowhere();"), ["build_failed", "load_failed"], ("nowhere",)),
    case("exception", plain("raise ValueError('on purpose')"), ["crashed", "wrong"], ("on purpose",)),
    case("segfault", native("*(volatile int*)8 = 1;"), ["crashed"], ("sigsegv", "segmentation")),
    case("endless import", plain(RIGHT, "while True: pass"), ["timeout"], ("import", "load", "deadline")),
    case("endless forward", plain("while True: pass"), ["timeout"], ("forward", "deadline", "second")),
    case("exit zero", plain("os._exit(0)"), ["crashed"], ("exit",)),
    case("writes its input", plain("x.relu_()\nreturn x * self.weight"), ["crashed", "wrong", "rejected"], ("input",)),
    case("writes its input natively", native("const_cast<float*>(in)[0] = 2;"), ["crashed", "wrong", "rejected"], ("input",)),
    case("a megabyte of printing", plain("print('x' * (1 << 20))\nreturn torch.relu(x) * self.weight"), ["correct"]),
    case("network", plain("import socket\ns = socket.create_connection(('192.0.2.1', 9), timeout=2)\n" + RIGHT),
         ["crashed", "wrong"], ("unreachable", "network")),
    case("reads root's file", plain("open('/etc/shadow').read()\n" + RIGHT), ["crashed", "wrong"],
         ("no such file", "permission")),
    case("honest after all of them", native("/* again */"), ["correct"]),
]

# Broken task files: (name, source, verdicts, words).
TASKS = [
    ("task loops", "while True:\n    pass\n", ["refused"], ("deadline", "import", "second")),
    ("task crashes", "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n", ["refused"], ("sigsegv", "segmentation")),
    ("task exits", "import os\nos._exit(0)\n", ["refused"], ("exit",)),
    ("task has a syntax error", "def broken(:\n    pass\n", ["refused"], ("line 1", ":1")),
]
