# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""Compares ModelNew with the reference on the reference's own inputs. Usage: test_against_reference.py [BUILD_FOLDER]"""

import os
import pathlib
import sys

here = pathlib.Path(__file__).resolve().parent
build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else here.parent / "build").resolve()
os.environ.setdefault("LATHE_NATIVE_LIBRARY", str(build / "liblathe_kernels.so"))
sys.path[:0] = [str(here), str(here.parent / "python")]

import torch
import reference
from model_new import ModelNew

device = "@DEVICE@"
TOLERANCE = {torch.bfloat16: 2e-2, torch.float16: 2e-3, torch.float32: 1e-4, torch.float64: 1e-9}


def move(value):
    if isinstance(value, torch.Tensor):
        return value.to(device)
    return type(value)(move(item) for item in value) if isinstance(value, (list, tuple)) else value


def leaves(value):
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, (list, tuple)) else [value]


torch.manual_seed(0)
arguments = reference.get_init_inputs()
expected_model = reference.Model(*arguments).eval().to(device)
model = ModelNew(*arguments).eval()
state = expected_model.state_dict()
model.load_reference_state(state) if hasattr(model, "load_reference_state") else model.load_state_dict(state)
model.to(device)
for trial in range(3):
    torch.manual_seed(trial)
    inputs = move(reference.get_inputs())
    with torch.no_grad():
        expected, got = leaves(expected_model(*inputs)), leaves(model(*inputs))
    assert len(expected) == len(got), f"{len(got)} outputs, the reference has {len(expected)}"
    for index, (want, have) in enumerate(zip(expected, got)):
        if isinstance(want, torch.Tensor):
            bound = TOLERANCE.get(want.dtype, 0)
            torch.testing.assert_close(have, want, rtol=bound, atol=bound, msg=lambda m: f"output {index}: {m}")
print("agrees with the reference")
