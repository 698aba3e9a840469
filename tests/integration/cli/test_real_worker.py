# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""The real binary with the real worker and arm: one quick evaluation, one compile error, one demonstration."""
import os
import unittest

from cli_case import SOURCE, TASK, CliCase

LIMIT = 300


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


if __name__ == "__main__":
    unittest.main(verbosity=2)
