#!/usr/bin/env python3
# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""ModelNew files with load_inline, load, TorchScript and torch.compile, and a CUDA-Agent workdir with C++ kernels.

run_extensions.py LATHE_WORKER CACHE [NAME...]"""
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import protocol_client  # noqa: E402

SOURCE = (HERE.parent / "verdicts/reference.py").read_text()

KERNEL = """
torch::Tensor scaled_relu(torch::Tensor x, torch::Tensor weight) {
    TORCH_CHECK(x.is_contiguous() && x.dim() == 2, "x must be a contiguous matrix");
    auto y = torch::empty_like(x);
    const float* in = x.data_ptr<float>();
    const float* scale = weight.data_ptr<float>();
    float* out = y.data_ptr<float>();
    for (int64_t r = 0; r < x.size(0); ++r)
        for (int64_t c = 0; c < x.size(1); ++c)
            out[r * x.size(1) + c] = (in[r * x.size(1) + c] > 0 ? in[r * x.size(1) + c] : 0.0f) * scale[c];
    return y;
}
"""

MODEL = """
class ModelNew(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(hidden))
        {init}

    def forward(self, x):
        {forward}
"""


def inline(kernel=KERNEL, arguments="functions=['scaled_relu']", top=True, forward="return extension.scaled_relu(x, self.weight)"):
    call = f"load_inline(name='scaled', cpp_sources=SOURCE, {arguments})"
    text = "import torch\nimport torch.nn as nn\nfrom torch.utils.cpp_extension import load_inline\n\n"
    text += f"SOURCE = r'''{kernel}'''\n"
    if top:
        text += f"extension = {call}\n"
    return text + MODEL.format(init="pass" if top else f"global extension; extension = {call}", forward=forward)


PLAIN = "import torch\nimport torch.nn as nn\n"
LOADED = PLAIN + "from torch.utils.cpp_extension import load\nimport os\n" \
    "extension = load(name='loaded', sources=[os.path.join(os.path.dirname(__file__), 'csrc/main.cpp')])\n" \
    + MODEL.format(init="pass", forward="return extension.scaled_relu(x, self.weight)")
MODULE = "\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def(\"scaled_relu\", &scaled_relu); }\n"
WORKDIR_MODEL = PLAIN + "import cuda_extension\n" + MODEL.format(init="pass", forward="return cuda_extension.scaled_relu(x, self.weight)")
LAUNCHER = """
extern "C" void scaled_relu_launch(const float* in, const float* scale, float* out, long rows, long columns) {
    for (long r = 0; r < rows; ++r)
        for (long c = 0; c < columns; ++c)
            out[r * columns + c] = (in[r * columns + c] > 0 ? in[r * columns + c] : 0.0f) * scale[c];
}
"""
BINDING = """
#include <torch/types.h>
#include <torch/csrc/utils/pybind.h>
#include "../binding_registry.h"

extern "C" void scaled_relu_launch(const float*, const float*, float*, long, long);

static torch::Tensor scaled_relu(torch::Tensor x, torch::Tensor weight) {
    auto y = torch::empty_like(x);
    scaled_relu_launch(x.data_ptr<float>(), weight.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
}

static void register_scaled_relu(pybind11::module& m) { m.def("scaled_relu", &scaled_relu); }
REGISTER_BINDING(scaled_relu, register_scaled_relu);
"""

# (name, format, files, verdicts, words)
CASES = [
    ("inline", "modelnew", {"model_new.py": inline()}, ["correct"], ""),
    ("inline, wrong result", "modelnew", {"model_new.py": inline(forward="return extension.scaled_relu(x, self.weight) * 1.01")},
     ["wrong"], "output 0"),
    ("inline in the constructor", "modelnew", {"model_new.py": inline(top=False)}, ["load_failed"], "top level of model_new.py"),
    ("inline that does not compile", "modelnew", {"model_new.py": inline(KERNEL.replace("empty_like(x)", "empty_like(z)"))},
     ["build_failed"], "main.cpp:4: 'z' was not declared"),
    ("inline with device code", "modelnew", {"model_new.py": inline(arguments="functions=['scaled_relu'], cuda_sources='__global__ void k() {}'")},
     ["build_failed"], "cannot be built for the cpu target"),
    ("import fails", "modelnew", {"model_new.py": "import torch.utils.cpp_extension\nraise ValueError('on purpose')\n"},
     ["build_failed", "load_failed"], "model_new.py:2: importing model_new.py failed: valueerror: on purpose"),
    ("load", "modelnew", {"model_new.py": LOADED, "csrc/main.cpp": '#include <torch/extension.h>\n#include "kernel.h"\n' + MODULE,
                          "csrc/kernel.h": "#pragma once\n" + KERNEL}, ["correct"], ""),
    ("workdir", "cuda-agent", {"model_new.py": WORKDIR_MODEL, "kernels/scaled_relu.cpp": LAUNCHER,
                               "kernels/scaled_relu_binding.cpp": BINDING}, ["correct"], ""),
    ("workdir with device code", "cuda-agent", {"model_new.py": WORKDIR_MODEL, "kernels/scaled_relu.cu": LAUNCHER,
                                                "kernels/scaled_relu_binding.cpp": BINDING}, ["build_failed"], "cannot be built for the cpu target"),
    ("torchscript", "modelnew", {"model_new.py": PLAIN + MODEL.format(init="pass", forward="return self.body(x, self.weight)")
                                 + "\n    @staticmethod\n    @torch.jit.script\n    def body(x, w):\n        return torch.relu(x) * w\n"},
     ["correct"], ""),
    ("torch.compile", "modelnew", {"model_new.py": PLAIN + "\n\n@torch.compile\ndef body(x, w):\n    return torch.relu(x) * w\n"
                                   + MODEL.format(init="pass", forward="return body(x, self.weight)")}, ["correct"], ""),
]


def build_of(outcome):
    return next((event["report"] for event, _ in outcome["events"] if event["event"] == "build"), {})


def main():
    only = sys.argv[3:]
    worker = protocol_client.Worker([sys.argv[1], "serve", "--cache", sys.argv[2]])
    bad = 0
    for name, fmt, files, verdicts, words in CASES:
        if only and name not in only:
            continue
        start = time.monotonic()
        limits = {"importTimeoutSeconds": 60, "forwardTimeoutSeconds": 120}
        outcome = worker.wait(worker.start(SOURCE, files, fmt, task=limits, against=["eager"]), 400)
        verdict = (outcome["done"] or {}).get("verdict") or "failure " + str((outcome["failure"] or {}).get("code"))
        text = protocol_client.words_of(outcome).replace("\u2018", "'").replace("\u2019", "'")
        good = verdict in verdicts and words in text
        bad += not good
        print(f"{'ok' if good else 'BAD':4} {name:28} {verdict:14} {time.monotonic() - start:5.1f} s  {text[:160]}", flush=True)
        if not good:
            print(f"     wanted {verdicts} with {words!r}; said: {text[:1500]}")
    if not only or "inline" in only:
        again = worker.wait(worker.start(SOURCE, CASES[0][2], "modelnew", against=["eager"]), 120)
        cached = build_of(again).get("cached")
        print(f"{'ok' if cached else 'BAD':4} the same inline source is not compiled again")
        bad += not cached
    worker.close()
    return 1 if bad else 0


sys.exit(main())
