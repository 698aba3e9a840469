#!/usr/bin/env python3
# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""Every task of tests/data/tasks is judged, or refused with the right reason, by one worker that stays the same process.

run_tasks.py LATHE LATHE_WORKER [WORD...]: only rows whose task holds one of the words."""
import json
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent.parent / "data" / "tasks"
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE))
import protocol_client  # noqa: E402
from table import JUDGED  # noqa: E402

LIMITS = {"importTimeoutSeconds": 3, "forwardTimeoutSeconds": 0.5}
ENDLESS = ("endless",)


def show(lathe, task):
    done = subprocess.run([lathe, "task", "show", "--json", str(DATA / task)], capture_output=True, text=True, timeout=30)
    return json.loads(done.stdout)


def candidate_of(source, changes):
    code = re.sub(r"\bModel\b", "ModelNew", source)
    for old, new in changes.items():
        if old not in code:
            raise SystemExit(f"the table replaces {old!r}, which is not in the task")
        code = code.replace(old, new)
    return {"model_new.py": code}


def said(outcome):
    """All that a person reads about the task, in lower case."""
    parts = [protocol_client.words_of(outcome)]
    for event, _ in outcome["events"]:
        if event["event"] == "gate":
            parts.append(event["gate"]["reason"])
        if event["event"] == "warning":
            parts.append(event["text"])
    return " ".join(parts).lower()


def findings(outcome):
    return [sentence for event, _ in outcome["events"] if event["event"] == "gate"
            for sentence in event["gate"].get("detail", {}).get("findings", [])]


def judge(worker, document, tried):
    spec = dict(document["spec"])
    if any(word in document["reference"] for word in ENDLESS):
        spec.update(LIMITS)
    variants = spec.pop("variants")
    extra = {"method": "baseline", "against": ["eager"]}
    if tried != "health":
        changes = {} if tried == "same" else tried
        extra = {"files": candidate_of(document["source"], changes), "fmt": "modelnew", "against": ["eager"]}
    extra["tier"] = "full"
    for variant in variants:
        variant["constants"] = {c["name"]: c["literal"] for c in variant["constants"]}
    request = worker.start(document["source"], variants=variants, task=spec, **extra)
    return worker.wait(request, 120)


def main():
    lathe, program, only = sys.argv[1], sys.argv[2], sys.argv[3:]
    worker = protocol_client.Worker([program, "serve"])
    pid = worker.process.pid
    started = time.monotonic()
    bad = count = 0
    for row in JUDGED:
        task, tried = row[0], row[1]
        if only and not any(word in task for word in only):
            continue
        count += 1
        begin = time.monotonic()
        document = show(lathe, task)
        if tried == "read" or "error" in document:
            text = document.get("error", {}).get("message", "read without a complaint")
            good = tried == "read" and row[2] in text
            verdict, reason, wanted = "refused to read", text, row[2]
        else:
            outcome = judge(worker, document, tried)
            verdict = (outcome["done"] or {}).get("verdict") or "failure " + str((outcome["failure"] or {}).get("code"))
            text, told, wanted = said(outcome), findings(outcome), row[3]
            good = verdict in row[2] and wanted.lower() in text
            if tried == "health" and verdict == "correct" and not wanted:
                # Small shapes are what these tests are made of; nothing else may be found.
                good = good and not [f for f in told if "mostly the call itself" not in f]
            reason = (outcome["done"] or {}).get("reason") or (outcome["failure"] or {}).get("message") or ""
            reason = "; ".join(told) or reason
        print(f"{'ok' if good else 'BAD':4} {task:45} {verdict:15} {time.monotonic() - begin:5.1f} s  {reason[:150]}", flush=True)
        if not good:
            bad += 1
            print(f"     wanted {row[2:]}; said: {text[:1500]}")
    alive = worker.process.poll() is None and worker.process.pid == pid
    print(f"{count} rows, {bad} bad, {time.monotonic() - started:.0f} s; worker {pid} "
          f"{'is still the same process' if alive else 'DIED'}")
    worker.close()
    return 1 if bad or not alive else 0


sys.exit(main())
