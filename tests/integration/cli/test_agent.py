# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""lathe agent with a scripted model over a real socket and the stand-in worker, its replay, and lathe demo on it."""
import json
import os
import shutil
import signal
import subprocess
import unittest

from cli_case import LATHE, SOURCE, TASK, CliCase

MODEL = "import torch.nn as nn\n\nclass ModelNew(nn.Module):\n    pass\n"
SCRIPT = {
    "title": "a short run", "model": "scripted", "chunkCharacters": 16, "eventDelayMs": 1,
    "turns": [
        {"text": "I write one file and check it.",
         "calls": [{"name": "write_file", "arguments": {"path": "model_new.py", "content": MODEL}},
                   {"name": "write_file", "arguments": {"path": "kernels/kernel.cpp", "content": "// fake:wrong\n"}},
                   {"name": "verify", "arguments": {"label": "first"}}]},
        {"text": "It is wrong: I mend it.",
         "calls": [{"name": "write_file", "arguments": {"path": "kernels/kernel.cpp", "content": "// fake:ratio=3\n"}},
                   {"name": "benchmark", "arguments": {"expect": 2.0, "label": "second"}}]},
        {"text": "Done.", "calls": [{"name": "submit", "arguments": {"expect": 3.0, "label": "second"}}]},
    ],
}


class Agent(CliCase):
    worker = os.environ["LATHE_FAKE_WORKER"]

    def serve(self, script):
        """Starts the model server and writes the endpoint profile "scripted"."""
        path = self.home / "script.json"
        path.write_text(json.dumps(script))
        server = subprocess.Popen([os.environ["LATHE_MODEL_SERVER"], path], stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        profile = [{"name": "scripted", "baseUrl": server.stdout.readline().strip(), "model": "scripted", "origin": "scripted"}]
        folder = self.home / ".config" / "lathe"
        folder.mkdir(parents=True)
        (folder / "endpoints.json").write_text(json.dumps(profile))

    def recording(self):
        return next((self.home / "workspace" / "runs").glob("*/recording.replay.jsonl"))

    def run_scripted(self):
        self.serve(SCRIPT)
        return self.run_json("agent", TASK, "--provider", "scripted", "--workspace", self.home / "workspace")

    def test_run_to_the_end(self):
        document = self.run_scripted()
        self.assertEqual(document["schema"], "lathe.agent/1")
        self.assertEqual(document["stopReason"], "submitted")
        self.assertFalse(document["replay"])
        self.assertEqual([c["verdict"] for c in document["candidates"]], ["wrong", "correct"])
        self.assert_valid(document["best"])
        self.assertAlmostEqual(document["best"]["speedups"]["eager"]["ratio"], 3.0)

    def test_trajectory_show_by_run_and_by_file(self):
        run = self.run_scripted()["run"]
        shown = self.run_json("trajectory", "show", run, "--workspace", self.home / "workspace")
        calls = [i["title"].split()[0] for i in shown["items"] if i["kind"] == "tool_call"]
        self.assertEqual(calls, ["write_file", "write_file", "verify", "write_file", "benchmark", "submit"])
        file = self.home / "workspace" / "runs" / run / "trajectory.jsonl"
        self.assertEqual(self.run_json("trajectory", "show", file)["items"], shown["items"])
        self.assertIn("I write one file and check it.", self.run_lathe("trajectory", "show", file).stdout)
        self.run_lathe("trajectory", "show", "nothing", code=2)
        empty = self.home / "empty.jsonl"
        for text, word in (("", "is empty"), ('{"schema": "lathe.traj', "no whole line")):
            empty.write_text(text)
            self.assertIn(word, self.run_json("trajectory", "show", empty, code=2)["error"]["message"])
        empty.write_text(file.read_text().splitlines()[0] + "\n")
        self.assertIn("no step", self.run_lathe("trajectory", "show", empty).stdout)

    def test_replay_and_demo_label_what_is_recorded(self):
        self.run_scripted()
        replay = self.run_json("agent", TASK, "--provider", f"replay:{self.recording()}", "--workspace", self.home / "second")
        self.assertTrue(replay["replay"])
        self.assertEqual(replay["stopReason"], "submitted")
        self.assertEqual([c["verdict"] for c in replay["candidates"]], ["wrong", "correct"])

        resources = self.home / "resources"
        shutil.copytree(SOURCE / "resources", resources, ignore=shutil.ignore_patterns("demo"))
        (resources / "demo").mkdir()
        shutil.copy(self.recording(), resources / "demo" / "short.replay.jsonl")
        self.env["LATHE_RESOURCES"] = str(resources)
        text = self.run_lathe("demo").stdout
        for line in text.splitlines():
            if "I write one file" in line:
                self.assertTrue(line.startswith("recorded │"))
        self.assertIn("recorded │ ", text)
        self.assertIn("live     │ ", text)
        self.assertIn("✓ correct  2.40× [2.39, 2.41] against compile:default: faster", text)

    def test_demo_without_a_recording_is_3(self):
        resources = self.home / "resources"
        shutil.copytree(SOURCE / "resources", resources, ignore=shutil.ignore_patterns("demo"))
        self.env["LATHE_RESOURCES"] = str(resources)
        self.run_json("demo", code=3)

    def test_unknown_provider_is_2(self):
        self.run_json("agent", TASK, "--provider", "nobody", code=2)
        self.run_json("agent", TASK, "--provider", "replay:/nonexistent", code=2)

    def test_ctrl_c_stops_the_run(self):
        script = json.loads(json.dumps(SCRIPT))
        script["turns"][0]["calls"][1]["arguments"]["content"] = "// fake:hang\n"
        self.serve(script)
        process = subprocess.Popen([LATHE, "agent", TASK, "--provider", "scripted", "--json", "--progress", "ndjson"],
                                   env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        for line in process.stderr:
            event = json.loads(line)
            if event["kind"] == "tool_call" and event["title"].startswith("verify"):
                break
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=15)
        self.assertEqual(process.returncode, 130)
        document = json.loads(out)
        self.assertEqual(document["stopReason"], "cancelled")
        self.assertEqual([c["verdict"] for c in document["candidates"]], [None])


if __name__ == "__main__":
    unittest.main(verbosity=2)
