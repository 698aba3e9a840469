# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""What the command line's tests share: a private home, the real binary, the schema."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import json_schema  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[3]
LATHE = os.environ["LATHE_BINARY"]
EVAL_SCHEMA = json.loads((SOURCE / "tasks/schema/eval.schema.json").read_text())
TASK = str(SOURCE / "tasks/starter/rmsnorm_residual")


class CliCase(unittest.TestCase):
    worker = None  # command line of the worker; None: the one beside the binary

    def setUp(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="lathe-cli-"))
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("LATHE_", "XDG_"))}
        self.env |= {"HOME": str(self.home), "NO_COLOR": "1"}
        for name in ("LATHE_PYTHON",):
            if name in os.environ:
                self.env[name] = os.environ[name]
        if self.worker:
            self.env["LATHE_WORKER"] = self.worker

    def run_lathe(self, *arguments, code=0, timeout=60, cwd=None):
        done = subprocess.run([LATHE, *map(str, arguments)], env=self.env, capture_output=True, text=True, timeout=timeout,
                              stdin=subprocess.DEVNULL, cwd=cwd or self.home)
        if code is not None:
            self.assertEqual(done.returncode, code, f"lathe {arguments}\n--- stdout\n{done.stdout}\n--- stderr\n{done.stderr}")
        return done

    def run_json(self, *arguments, **options):
        """Stdout must be exactly one JSON document."""
        done = self.run_lathe(*arguments, "--json", **options)
        return json.loads(done.stdout)

    def assert_valid(self, document):
        self.assertEqual(json_schema.errors(document, EVAL_SCHEMA), [])

    def solution(self, name="solution", marker=""):
        """A native candidate whose text tells the stand-in worker what to answer."""
        folder = self.home / name
        (folder / "kernels").mkdir(parents=True, exist_ok=True)
        (folder / "model_new.py").write_text("import torch.nn as nn\n\nclass ModelNew(nn.Module):\n    pass\n")
        (folder / "kernels" / "kernel.cpp").write_text(f"// {marker}\nint kernel;\n")
        return folder
