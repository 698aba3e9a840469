# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""The real binary with the real worker and arm: one quick evaluation, one compile error, one demonstration."""
import os
import unittest

from cli_case import SOURCE, TASK, CliCase

LIMIT = 300
DOUBLE = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x * 2


def get_inputs():
    return [torch.randn(1000)]


def get_init_inputs():
    return []
"""
THREE_CALLS = """
import lathe_native
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        for _ in range(3):
            lathe_native.slow_double(x, y, 2000)
        return y
"""
SLOW_KERNEL = """
#include <lathe/kernel.h>

#include <chrono>

// Takes at least so many microseconds by the steady clock.
static void slowDouble(const lathe::Tensor& x, const lathe::Tensor& y, int64_t us)
{
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(us);
    for (int64_t i = 0; i < x.numel(); ++i)
        y.data<float>()[i] = 2 * x.data<float>()[i];
    while (std::chrono::steady_clock::now() < end) {
    }
}
LATHE_EXPORT(slow_double, slowDouble)
"""


class Live(CliCase):
    worker = os.environ["LATHE_REAL_WORKER"]

    def setUp(self):
        super().setUp()
        # The user's own caches stay: compilers and Inductor would take minutes in a fresh home.
        self.env["XDG_CACHE_HOME"] = os.path.join(os.environ["LATHE_TEST_CACHE"], "cli")

    def test_the_shipped_solution_is_correct(self):
        document = self.run_json("eval", TASK, "cpu_fused", "--tier", "quick", timeout=LIMIT)
        self.assert_valid(document)
        self.assertEqual(document["verdict"], "correct")
        self.assertTrue(any(t["arm"] == "candidate" for t in document["timings"]))
        self.assertTrue(any(t["arm"] == "eager" for t in document["timings"]))

    def test_a_compile_error_is_1_with_file_and_line(self):
        folder = self.home / "broken"
        (folder / "kernels").mkdir(parents=True)
        shipped = SOURCE / "tasks/starter/rmsnorm_residual/solutions/cpu_fused"
        (folder / "model_new.py").write_text((shipped / "model_new.py").read_text())
        (folder / "kernels" / "k.cpp").write_text("int ok;\nint broken(\n")
        document = self.run_json("eval", TASK, folder, "--tier", "quick", code=1, timeout=LIMIT)
        self.assert_valid(document)
        self.assertEqual(document["verdict"], "build_failed")
        self.assertTrue(any(d["file"].endswith("k.cpp") and d["line"] in (2, 3) for d in document["build"]["diagnostics"]))

    def test_the_timeline_shows_the_calls_that_were_made(self):
        (self.home / "double.py").write_text(DOUBLE)
        (self.home / "three" / "kernels").mkdir(parents=True)
        (self.home / "three" / "model_new.py").write_text(THREE_CALLS)
        (self.home / "three" / "kernels" / "k.cpp").write_text(SLOW_KERNEL)
        document = self.run_json("eval", self.home / "double.py", self.home / "three", "--tier", "quick", "--workspace",
                                 self.home / "ws", timeout=LIMIT)
        self.assertEqual(document["verdict"], "correct")
        blob = next(a["blob"] for a in document["artifacts"] if a["kind"] == "trace" and a["arm"] == "candidate")
        trace = self.run_json("trace", "info", self.home / "ws" / "blobs" / blob[:2] / blob)
        kernels = [n for n in trace["names"] if n["category"] == "kernel"]
        self.assertEqual([(n["name"], n["count"]) for n in kernels], [("slow_double", 9)], "3 in each of 3 calls")
        # Each span is of a call that took 2 ms at least.
        self.assertGreaterEqual(kernels[0]["minUs"], 2000)
        evidence = document["evidence"]["busySeconds"] * 1e6
        self.assertLess(abs(kernels[0]["totalUs"] - evidence) / evidence, 0.05)
        # What the kernels ran cannot exceed the calls that they ran in.
        self.assertLessEqual(trace["busyUs"]["kernel"], trace["busyUs"]["runtime"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
