# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""Every shipped task is healthy, and every solution of it for the CPU is right on all its variants but the hidden ones."""
import json
import os
import unittest

from cli_case import SOURCE, CliCase

LIMIT = 600
STARTER = SOURCE / "tasks/starter"


class Starter(CliCase):
    worker = os.environ["LATHE_REAL_WORKER"]

    def setUp(self):
        super().setUp()
        self.env["XDG_CACHE_HOME"] = os.path.join(os.environ["LATHE_TEST_CACHE"], "cli")

    def test_tasks_are_healthy_and_solutions_are_right(self):
        tasks = sorted(path.parent for path in STARTER.glob("*/task.json"))
        self.assertGreaterEqual(len(tasks), 1)
        for task in tasks:
            with self.subTest(task=task.name):
                self.assertTrue((task / "notes.md").is_file(), "no expectations")
                self.run_lathe("task", "check", task, timeout=LIMIT)
            variants = [v["name"] for v in json.loads((task / "task.json").read_text())["variants"]
                        if v.get("device", "any") != "cuda" and not v.get("hidden")]
            for solution in sorted((task / "solutions").glob("cpu_*")):
                with self.subTest(task=task.name, solution=solution.name):
                    document = self.run_json("eval", task, solution, "--tier", "quick", "--until", "verify", "--variant",
                                             ",".join(variants), timeout=LIMIT)
                    self.assertEqual(document["verdict"], "correct", document["reason"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
