# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""The real binary against the stand-in worker: exit codes, documents, cancelling, watching."""
import csv
import json
import os
import shlex
import signal
import subprocess
import time
import unittest

from cli_case import LATHE, SOURCE, TASK, CliCase


class Evaluate(CliCase):
    worker = os.environ["LATHE_FAKE_WORKER"]

    def test_correct_is_0_and_the_document_is_valid(self):
        document = self.run_json("eval", TASK, self.solution())
        self.assert_valid(document)
        self.assertEqual(document["verdict"], "correct")
        self.assertEqual(document["speedups"]["eager"]["ratio"], 2.0)
        self.assertTrue(document["rerun"].startswith("lathe eval "))

    def test_table_for_people(self):
        text = self.run_lathe("eval", TASK, self.solution()).stdout
        for part in ("✓ correct", "against eager: 2.00×", "candidate", "500 µs"):
            self.assertIn(part, text)

    def test_wrong_is_1_with_the_reason(self):
        document = self.run_json("eval", TASK, self.solution(marker="fake:wrong"), code=1)
        self.assert_valid(document)
        self.assertEqual(document["verdict"], "wrong")
        self.assertIn("expected 1, got 2", document["reason"])

    def test_build_failure_shows_file_and_line(self):
        folder = self.solution(marker="fake:build_failed")
        self.assertIn("kernels/kernel.cpp:3:5: error:", self.run_lathe("eval", TASK, folder, code=1).stdout)
        self.assert_valid(self.run_json("eval", TASK, folder, code=1))

    def test_accept_if_faster(self):
        self.run_lathe("eval", TASK, self.solution("a", "fake:ratio=1.5"), "--accept-if", "faster")
        self.run_lathe("eval", TASK, self.solution("b", "fake:ratio=0.5"), "--accept-if", "faster", code=4)
        self.run_lathe("eval", TASK, self.solution("b", "fake:ratio=0.5"))

    def test_refusal_of_the_worker_is_3(self):
        self.assertEqual(self.run_json("eval", TASK, self.solution(marker="fake:failure"), code=3)["schema"], "lathe.error/1")

    def test_a_dying_worker_is_70(self):
        self.run_json("eval", TASK, self.solution(marker="fake:crash"), code=70)

    def test_missing_input_is_2(self):
        self.run_json("eval", TASK, self.home / "nothing", code=2)
        self.run_json("eval", self.home / "nothing", self.solution(), code=2)
        self.run_json("eval", TASK, code=2)

    def test_unreachable_devices_and_targets_are_3(self):
        self.run_json("eval", TASK, self.solution(), "--target", "moon", code=3)
        self.run_json("eval", TASK, self.solution(), "--device", "tpu", code=3)

    def test_no_worker_is_3(self):
        self.env["LATHE_WORKER"] = "/nonexistent/lathe-worker"
        self.run_json("eval", TASK, self.solution(), code=3)

    def test_several_solutions(self):
        document = self.run_json("eval", TASK, self.solution("a"), self.solution("b", "fake:wrong"), code=1)
        self.assert_valid(document)
        self.assertEqual([r["verdict"] for r in document["results"]], ["correct", "wrong"])

    def test_progress_is_one_object_a_line(self):
        done = self.run_lathe("eval", TASK, self.solution(), "--json", "--progress", "ndjson")
        events = [json.loads(line)["event"] for line in done.stderr.splitlines()]
        self.assertEqual(events[-1], "finished")
        self.assertIn("timing", events)
        json.loads(done.stdout)

    def test_export_files(self):
        names = {k: self.home / f"out.{k}" for k in ("json", "csv", "markdown")}
        document = self.run_json("eval", TASK, self.solution(), *[x for k, v in names.items() for x in (f"--export-{k}", v)])
        self.assertEqual(json.loads(names["json"].read_text()), document)
        rows = list(csv.DictReader(names["csv"].read_text().splitlines()))
        self.assertEqual([float(r["medianUs"]) for r in rows], [t["medianUs"] for t in document["timings"]])
        self.assertIn("| variant |", names["markdown"].read_text())
        self.run_lathe("eval", TASK, self.solution(), "--export-csv", "/nonexistent/folder/x.csv", code=2)

    def test_baseline(self):
        document = self.run_json("baseline", TASK)
        self.assert_valid(document)
        self.assertNotIn("candidate", {t["arm"] for t in document["timings"]})

    def test_unknown_baselines_are_2_and_the_known_are_listed(self):
        for command in (["eval", TASK, self.solution()], ["baseline", TASK], ["watch", TASK, self.solution()]):
            error = self.run_json(*command, "--against", "eager,nonsense", code=2)["error"]
            for word in ("nonsense", "eager", "compile:default", "compile:max-autotune"):
                self.assertIn(word, error["message"])
        self.run_json("eval", TASK, self.solution(), "--against", "eager,compile:default")

    def test_a_stored_candidate_is_a_solution_and_rerun_names_it(self):
        workspace = self.home / "workspace"
        document = self.run_json("eval", TASK, self.solution(), "--workspace", workspace)
        candidate = document["candidate"]["id"]
        export = self.run_json("export", candidate, "--as", "cpp", "--out", self.home / "out", "--workspace", workspace)
        kept = next(json.loads(p.read_text()) for p in (workspace / "blobs").rglob("*") if p.is_file()
                    and p.read_bytes().startswith(b'{"schema":"lathe.eval/1"'))
        self.assertTrue(export["files"])
        words = shlex.split(kept["rerun"])
        self.assertEqual((words[:2], words[3]), (["lathe", "eval"], candidate))
        again = self.run_json(*words[1:])
        self.assertEqual(again["candidate"]["id"], candidate)
        self.assertEqual(again["verdict"], "correct")
        other = self.home / "other.py"
        other.write_text((SOURCE / "tests/integration/verdicts/reference.py").read_text())
        refused = self.run_json("eval", other, candidate, "--workspace", workspace, code=2)
        self.assertIn("another task", refused["error"]["message"])

    def test_unsandboxed_is_passed_to_the_worker(self):
        log = self.home / "worker.log"
        script = self.home / "worker"
        script.write_text(f"#!/bin/sh\necho \"$@\" >>{log}\nexec {self.worker}\n")
        script.chmod(0o755)
        for worker in (str(script), f"{script} serve"):
            self.env["LATHE_WORKER"] = worker
            self.run_json("eval", TASK, self.solution())
            self.run_json("eval", TASK, self.solution(), "--allow-unsandboxed")
        self.assertEqual(log.read_text().splitlines(), ["serve", "serve --allow-unsandboxed"] * 2)

    def test_exec_runs_the_tool(self):
        self.assertIn("perf stat", self.run_lathe("exec", TASK, self.solution(), "--", "perf", "stat").stdout)
        self.run_lathe("exec", TASK, self.solution(), "--", "false", code=1)
        self.assertEqual(self.run_json("exec", TASK, self.solution(), "--json", "--", "true")["toolExitCode"], 0)

    def run_json(self, *arguments, **options):
        if "--json" in arguments:
            return json.loads(self.run_lathe(*arguments, **options).stdout)
        return super().run_json(*arguments, **options)

    def test_candidates_can_be_exported_and_accepted(self):
        document = self.run_json("eval", TASK, self.solution())
        candidate = document["candidate"]["id"]
        said = self.run_lathe("accept", candidate, "--note", "fast enough").stdout
        self.assertIn("provisional", said)
        self.assertIn("--tier accept", said)
        self.run_lathe("accept", candidate, "--withdraw")
        self.assertIs(self.run_json("accept", candidate)["record"]["provisional"], True)
        self.run_lathe("accept", "rmsnorm_residual#1", "--withdraw")
        out = self.home / "export"
        files = self.run_json("export", candidate, "--as", "cpp", "--out", out)["files"]
        self.assertTrue(files and all(os.path.isfile(os.path.join(out, f)) for f in files))
        self.run_lathe("export", "0123456789abcdef", "--as", "cpp", "--out", out, code=2)
        wrong = self.run_json("eval", TASK, self.solution("w", "fake:wrong"), code=1)
        refusal = self.run_json("accept", wrong["candidate"]["id"], code=1)
        self.assertEqual((refusal["exitCode"], refusal["error"]["code"]), (1, "refused"))
        self.run_lathe("accept", candidate, "--withdraw", code=1)

    def test_a_file_that_cannot_be_written_costs_no_evaluation(self):
        for option in ("--export-json", "--export-csv", "--export-markdown"):
            for path in (self.home / "nowhere" / "x", self.home):
                with self.subTest(option=option, path=path):
                    done = self.run_lathe("eval", TASK, self.solution(), option, path, code=2)
                    self.assertIn(f"cannot write {path}", done.stderr)
                    self.assertEqual(done.stdout, "")

    def test_doctor(self):
        done = subprocess.run([LATHE, "doctor", "--json"], env=self.env, capture_output=True, text=True, timeout=60)
        document = json.loads(done.stdout)
        rows = {r["name"]: r for r in document["rows"]}
        for row in rows.values():
            self.assertIn(row["status"], ("ok", "degraded", "missing"))
        self.assertEqual(rows["worker"]["status"], "ok")
        self.assertEqual(done.returncode, 0 if document["usable"] else 3)

    def test_an_accept_tier_result_is_accepted_for_good(self):
        document = self.run_json("eval", TASK, self.solution(), "--tier", "accept")
        candidate = document["candidate"]["id"]
        self.assertNotIn("provisional", self.run_lathe("accept", candidate).stdout)
        self.run_lathe("accept", candidate, "--withdraw")
        self.assertIs(self.run_json("accept", candidate)["record"]["provisional"], False)

    def test_doctor_without_a_worker_is_3(self):
        self.env["LATHE_WORKER"] = "/nonexistent/lathe-worker"
        document = self.run_json("doctor", code=3)
        self.assertFalse(document["usable"])
        rows = {r["name"]: r for r in document["rows"]}
        self.assertEqual(rows["worker"]["status"], "missing")
        self.assertNotEqual(rows["python"]["status"], "missing")  # nobody has looked

    def test_doctor_blames_a_bad_workspace_and_nothing_else(self):
        (self.home / "file").write_text("")
        done = subprocess.run([LATHE, "doctor", "--json", "--workspace", self.home / "file" / "below"], env=self.env,
                              capture_output=True, text=True, timeout=60)
        rows = {r["name"]: r for r in json.loads(done.stdout)["rows"]}
        self.assertEqual(done.returncode, 3)
        self.assertEqual(rows["workspace"]["status"], "missing")
        self.assertIn("--workspace", rows["workspace"]["fix"])
        self.assertEqual(rows["worker"]["status"], "ok")


class Interrupt(CliCase):
    worker = os.environ["LATHE_FAKE_WORKER"]

    def start(self, *arguments):
        process = subprocess.Popen([LATHE, *map(str, arguments)], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        return process

    def workers_of(self, pid):
        return subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split()

    def test_ctrl_c_cancels_and_leaves_nothing_behind(self):
        process = self.start("eval", TASK, self.solution(marker="fake:hang"), "--json", "--progress", "ndjson")
        while "building" not in process.stderr.readline():
            self.assertIsNone(process.poll())
        children = self.workers_of(process.pid)
        self.assertTrue(children)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=10)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(json.loads(out)["error"]["code"], "cancelled")
        for child in children:
            self.assertFalse(os.path.exists(f"/proc/{child}"))

    def test_watch_judges_every_save(self):
        folder = self.solution()
        process = self.start("watch", TASK, folder)
        lines = iter(process.stdout.readline, "")
        self.assertIn("quick tier", next(lines))
        self.assertIn("✓ correct", next(lines))
        (folder / "kernels" / "kernel.cpp").write_text("// fake:wrong\n")
        self.assertIn("✗ wrong", next(lines))
        (folder / "kernels" / "more").mkdir()
        (folder / "kernels" / "kernel.cpp").write_text("// mended\n")
        self.assertIn("✓ correct", next(lines))
        process.send_signal(signal.SIGINT)
        process.wait(timeout=10)
        self.assertEqual(process.returncode, 130)


if __name__ == "__main__":
    unittest.main(verbosity=2)
