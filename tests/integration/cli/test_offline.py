# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""Everything that needs no worker: usage, tasks, traces, the schema checker itself."""
import json
import os
import pathlib
import subprocess
import unittest

from cli_case import EVAL_SCHEMA, SOURCE, TASK, CliCase
import json_schema

TRACE = SOURCE / "tests/data/profile/torch_cpu.json"


class Usage(CliCase):
    def test_unknown_command_gives_a_hint(self):
        self.assertIn('Did you mean "lathe eval"?', self.run_lathe("evla", code=2).stderr)
        self.assertIn("lathe --help", self.run_lathe("profile", code=2).stderr)

    def test_bad_usage_is_2_and_one_document(self):
        for arguments in (["eval"], ["eval", TASK, "x", "--tier", "lazy"], ["eval", TASK, "x", "--nonsense"], ["evla"],
                          ["task", "show"], ["trace", "info"], ["export", "x", "--as", "tarball", "--out", "y"]):
            with self.subTest(arguments):
                document = self.run_json(*arguments, code=2)
                self.assertEqual(document["schema"], "lathe.error/1")
                self.assertEqual(document["exitCode"], 2)
                self.assertTrue(document["error"]["message"])

    def test_no_command_is_2(self):
        self.run_lathe(code=2)

    def test_help_and_version(self):
        text = self.run_lathe("--help").stdout
        for command in ("eval", "baseline", "watch", "exec", "task", "agent", "trajectory", "trace", "export", "accept", "doctor", "demo", "gui"):
            self.assertIn(command, text)
        self.assertRegex(self.run_lathe("--version").stdout, r"^lathe \d+\.\d+\.\d+\n$")

    def test_gui_becomes_the_workbench(self):
        program = self.home / "workbench"
        program.write_text('#!/bin/sh\necho "$@"\nexit 7\n')
        program.chmod(0o755)
        self.env["LATHE_WORKBENCH"] = str(program)
        self.assertEqual(self.run_lathe("gui", "--demo", "x y", code=7).stdout, "--demo x y\n")
        self.env["LATHE_WORKBENCH"] = "/nonexistent/workbench"
        self.run_lathe("gui", code=3)


class Tasks(CliCase):
    def test_show_by_folder_and_by_id(self):
        document = self.run_json("task", "show", TASK)
        self.assertEqual(document["key"], "starter/rmsnorm_residual")
        task = json.loads((SOURCE / "tasks/starter/rmsnorm_residual/task.json").read_text())
        self.assertEqual([v["name"] for v in document["variants"]], [v["name"] for v in task["variants"]])
        self.assertEqual(self.run_json("task", "show", "rmsnorm_residual"), document)

    def test_missing_is_2(self):
        self.assertEqual(self.run_json("task", "show", "starter/nothing", code=2)["error"]["code"], "not_found")

    def test_list_names_the_shipped_task(self):
        self.assertIn("starter/rmsnorm_residual", [t["key"] for t in self.run_json("task", "list")["tasks"]])

    def test_new_then_check(self):
        folder = self.home / "mine"
        made = self.run_json("task", "new", "mine", folder)
        self.assertTrue(os.path.isfile(os.path.join(made["folder"], "task.json")))
        self.assertTrue(self.run_json("task", "check", "--static", made["folder"])["ok"])
        self.run_lathe("task", "new", "mine", folder, code=2)

    def test_check_names_file_and_line(self):
        folder = self.home / "broken"
        folder.mkdir()
        (folder / "task.json").write_text('{"title": 3}')
        document = self.run_json("task", "check", folder, code=2)
        self.assertFalse(document["ok"])
        self.assertTrue(document["findings"])

    def test_schema_and_reader_agree(self):
        schema = json.loads((SOURCE / "tasks/schema/task.schema.json").read_text())
        reference = SOURCE / "tests/data/tasks/lathe/axis_of_rows/reference.py"
        folder = self.home / "task"
        folder.mkdir()
        (folder / "reference.py").write_bytes(reference.read_bytes())
        wrong = [{"inputs": [{"domain": "any"}]}, {"inputs": [{"index": 0, "domain": "tall"}]}, {"outputs": [{"index": 0, "compare": "close"}]},
                 {"inputs": [{"index": 0, "domain": "labels", "below": 0}]}, {"outputs": [{"index": 0, "compare": "ties", "of": {}}]},
                 {"free": {"rows": {"min": 2}}}, {"buffers": "keep"}, {"backward": 1}, {"variants": []},
                 {"variants": [{"name": "a", "axes": {"rows": []}}]}, {"variants": [{"name": "a", "arguments": {"Model": 3}}]},
                 {"mutates": [-1]}, {"tolerance": {"relative": 0}}, {"precision": "fp8"}, {"title": 3}]
        good = [json.loads(path.read_text()) for path in sorted((SOURCE / "tests/data/tasks/lathe").glob("*/task.json"))]
        good += [{"x-note": {"anything": [1]}}, {"variants": [{"name": "a", "axes": {"rows": [1, 2]}, "arguments": {"Model": {"n": None}}}]},
                 {"free": {"rows": {"max": 8}}}, {"outputs": [{"index": 0, "compare": "ties", "of": {"output": 1}}]}]
        self.assertGreater(len(good), 20)
        for expected, configs in ((False, wrong), (True, good)):
            for config in configs:
                with self.subTest(config):
                    (folder / "task.json").write_text(json.dumps(config))
                    found = json_schema.errors(config, schema)
                    self.assertEqual(not found, expected, found)
                    document = self.run_json("task", "check", "--static", folder, code=None)
                    errors = [f["message"] for f in document["findings"] if f["severity"] == "error"
                              and "no top-level constant" not in f["message"]]
                    self.assertEqual(not errors, expected, errors)

    def test_import_keeps_the_original(self):
        rows = SOURCE / "tests/data/tasks/cuda_agent_ops/rows.jsonl"
        document = self.run_json("task", "import", rows, self.home / "ops", code=1)
        self.assertEqual(len(document["folders"]), 2)
        self.assertIn("rows.jsonl:4", document["problems"][0])
        kept = json.loads((pathlib.Path(document["folders"][0]) / "row.json").read_text())
        self.assertEqual(kept, json.loads(rows.read_text().splitlines()[0]))
        self.assertTrue(self.run_json("task", "check", "--static", document["folders"][0])["ok"])
        self.run_lathe("task", "import", "nothing.py", self.home / "x", code=2)

    def test_eval_list(self):
        document = self.run_json("eval", TASK, "--list")
        self.assertTrue(any(s.endswith("cpu_fused") for s in document["solutions"]))


class Traces(CliCase):
    def test_info_agrees_with_the_recording(self):
        expected = json.loads((SOURCE / "tests/data/profile/torch_cpu.expected.json").read_text())
        document = self.run_json("trace", "info", TRACE)
        self.assertEqual(document["spans"], expected["spans"])
        self.assertAlmostEqual(document["busyUs"]["operator"], expected["operatorBusyNs"] / 1e3, places=6)
        self.assertEqual({n["name"]: n["count"] for n in document["names"]}, {k: v["count"] for k, v in expected["names"].items()})

    def test_convert_there_and_back(self):
        native, back = self.home / "t.ltrc", self.home / "t.json"
        self.run_lathe("trace", "convert", TRACE, native)
        self.run_lathe("trace", "convert", native, back)
        self.assertEqual(len([e for e in json.loads(back.read_text())["traceEvents"] if e["ph"] == "X"]),
                         self.run_json("trace", "info", native)["spans"])
        self.run_lathe("trace", "convert", TRACE, self.home / "t.xml", code=2)

    def test_links_and_pipes_are_written_into_not_replaced(self):
        real, link, pipe = self.home / "real.json", self.home / "link.json", self.home / "pipe.json"
        link.symlink_to(real)
        self.run_lathe("trace", "convert", TRACE, link)
        self.assertTrue(link.is_symlink())
        os.mkfifo(pipe)
        with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
            try:
                self.run_lathe("trace", "convert", TRACE, pipe)
                self.assertTrue(pipe.is_fifo())
                self.assertEqual(reader.stdout.read(), real.read_bytes())
            finally:
                reader.kill()  # else it waits for ever for a writer that replaced its pipe

    def test_diff_with_itself_is_no_change(self):
        for row in self.run_json("trace", "diff", TRACE, TRACE)["names"]:
            self.assertEqual(row["totalUs"][0], row["totalUs"][1])

    def test_truncated_file_names_the_byte(self):
        cut = self.home / "cut.json"
        cut.write_bytes(TRACE.read_bytes()[:2000])
        self.assertIn("at byte", self.run_json("trace", "info", cut, code=2)["error"]["message"])

    def test_missing_file_is_2(self):
        self.run_lathe("trace", "info", "nothing.json", code=2)


class SchemaChecker(unittest.TestCase):
    """The checker must be able to fail, or the tests that use it prove nothing."""

    def test_it_finds_what_is_wrong(self):
        good = {"schema": "lathe.eval/1", "task": "t", "tier": "full", "reason": "", "gates": [], "warnings": [], "rerun": "lathe",
                "target": {k: "" for k in ("name", "device", "driver", "toolchain", "torch", "sandbox")}}
        base = json_schema.errors(good, EVAL_SCHEMA["$defs"]["evaluation"], EVAL_SCHEMA)
        for change in ({"schema": "lathe.eval/2"}, {"tier": "lazy"}, {"unknown": 1}, {"gates": [{"name": "x"}]}, {"verdict": "fine"}):
            with self.subTest(change):
                self.assertGreater(len(json_schema.errors(good | change, EVAL_SCHEMA["$defs"]["evaluation"], EVAL_SCHEMA)), len(base))
        for key in good:
            with self.subTest(key):
                less = {k: v for k, v in good.items() if k != key}
                self.assertTrue(any(f"{key} is missing" in e for e in json_schema.errors(less, EVAL_SCHEMA["$defs"]["evaluation"], EVAL_SCHEMA)))

    def test_unknown_keywords_are_errors(self):
        with self.assertRaises(ValueError):
            json_schema.errors([], {"contains": {}})


if __name__ == "__main__":
    unittest.main(verbosity=2)
