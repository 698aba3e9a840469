#!/usr/bin/env python3
# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""Builds and runs a candidate's hand-offs outside Lathe and compares them with the task's reference.

Run it with the interpreter that has torch. Either of hand-offs made before:
    check_export.py --task FOLDER --kernelbench FILE --cpp FOLDER [--set rows=37]
or of a shipped solution, exported by the given program (export_sample TASK SOLUTION FORMAT FOLDER):
    check_export.py --task FOLDER --sample PROGRAM --solution NAME
Each part runs in a process of its own with an empty environment and nothing of Lathe on its path. --device cuda for CUDA.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

COMPARE = r'''
import importlib.util, sys, torch
reference_file, candidate_file, device = sys.argv[1:4]
def load(name, file):
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
def move(value):
    if isinstance(value, torch.Tensor):
        return value.to(device)
    return type(value)(map(move, value)) if isinstance(value, (list, tuple)) else value
def leaves(value):
    return [x for item in value for x in leaves(item)] if isinstance(value, (list, tuple)) else [value]
reference, candidate = load("reference", reference_file), load("candidate", candidate_file)
torch.manual_seed(1)
arguments = reference.get_init_inputs()
model = reference.Model(*arguments).eval()
new = candidate.ModelNew(*arguments).eval()
state = model.state_dict()
new.load_reference_state(state) if hasattr(new, "load_reference_state") else new.load_state_dict(state)
model, new = model.to(device), new.to(device)
bounds = {torch.bfloat16: 2e-2, torch.float16: 2e-3, torch.float32: 1e-4, torch.float64: 1e-9}
for trial in range(3):
    inputs = move(reference.get_inputs())
    with torch.no_grad():
        want, have = leaves(model(*inputs)), leaves(new(*inputs))
    assert len(want) == len(have) > 0
    for a, b in zip(want, have):
        assert float(a.float().abs().max()) > 0, "the reference's output is all zeros: nothing is compared"
        torch.testing.assert_close(b, a, rtol=bounds.get(a.dtype, 0), atol=bounds.get(a.dtype, 0))
# A failing kernel must be a Python error with its text, not a crash.
native = sys.modules.get("lathe_native")
if native is not None:
    names = sys.argv[4].split(",")
    try:
        getattr(native, names[0])()
    except RuntimeError as error:
        assert "arguments" in str(error), error
    else:
        raise AssertionError("a call without arguments went through")
print("ok", [str(x.dtype) for x in want], "max difference", max(float((a.double() - b.double()).abs().max()) for a, b in zip(want, have)))
'''


def run(command, folder, **extra):
    environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
    environment.update(extra)
    done = subprocess.run([str(word) for word in command], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"FAILED: {' '.join(str(word) for word in command)}\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


def with_constants(source, settings):
    for setting in settings:
        name, value = setting.split("=", 1)
        source, count = re.subn(rf"^{name} = .*$", f"{name} = {value}", source, flags=re.M)
        if count != 1:
            sys.exit(f"the reference has no single constant {name}")
    return source


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", required=True, type=pathlib.Path)
    parser.add_argument("--kernelbench", type=pathlib.Path)
    parser.add_argument("--cpp", type=pathlib.Path)
    parser.add_argument("--sample", type=pathlib.Path)
    parser.add_argument("--solution")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args()
    for key in ("task", "kernelbench", "cpp", "sample"):  # the parts run in other folders
        if getattr(options, key):
            setattr(options, key, getattr(options, key).resolve())
    with tempfile.TemporaryDirectory(prefix="lathe-export-") as name:
        work = pathlib.Path(name)
        if options.sample:
            solution = options.task / "solutions" / options.solution
            for kind in ("kernelbench", "cpp"):
                run([options.sample, options.task, solution, kind, work / kind], work)
            options.kernelbench = next((work / "kernelbench").glob("*_kernelbench.py"))
            options.cpp = work / "cpp"
        if not options.kernelbench and not options.cpp:
            parser.error("nothing to check")
        reference = work / "reference.py"
        reference.write_text(with_constants((options.task / "reference.py").read_text(), options.set))
        compare = work / "compare.py"
        compare.write_text(COMPARE)

        if options.kernelbench:
            # Alone in a folder of its own: it may need nothing that lies beside it.
            alone = work / "alone" / options.kernelbench.name
            alone.parent.mkdir()
            text = options.kernelbench.read_text()
            alone.write_text(text)
            kernel = re.findall(r"^LATHE_EXPORT\((\w+),", text, flags=re.M)[0]
            for start in ("first", "cached"):
                print(f"kernelbench ({start} start):", run([sys.executable, compare, reference, alone, options.device, kernel], work))
        if options.cpp:
            build = work / "build"
            generator = ["-G", "Ninja"] if shutil.which("ninja") else []  # cmake's default asks for make
            run(["cmake", "-S", options.cpp.resolve(), "-B", build, *generator, f"-DPython3_EXECUTABLE={sys.executable}"], work)
            run(["cmake", "--build", build], work)
            texts = [p.read_text() for p in sorted((options.cpp / "kernels").glob("*.c*"))]
            kernel = next(m for t in texts for m in re.findall(r"^LATHE_EXPORT\((\w+),", t, flags=re.M))
            extra = {"LATHE_NATIVE_LIBRARY": str(build / "liblathe_kernels.so"), "PYTHONPATH": str((options.cpp / "python").resolve())}
            print("cpp:", run([sys.executable, compare, reference, options.cpp / "python" / "model_new.py", options.device, kernel], work, **extra))
            print("cpp, its own test:", run([sys.executable, options.cpp / "test" / "test_against_reference.py", build], work))


if __name__ == "__main__":
    main()
