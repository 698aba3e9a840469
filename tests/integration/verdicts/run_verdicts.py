#!/usr/bin/env python3
# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""Every misbehaving candidate and task gets its verdict and a reason, from one worker that stays the same process.

run_verdicts.py LATHE_WORKER [NAME...]"""
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE))
import protocol_client  # noqa: E402
from cases import CASES, TASKS, native  # noqa: E402

LIMITS = {"importTimeoutSeconds": 8, "forwardTimeoutSeconds": 5}


def judge(worker, name, outcome, verdicts, words, seconds):
    verdict = (outcome["done"] or {}).get("verdict") or ("failure " + str((outcome["failure"] or {}).get("code")))
    text = protocol_client.words_of(outcome)
    good = verdict in verdicts and any(w in text for w in words)
    reason = (outcome["done"] or {}).get("reason") or (outcome["failure"] or {}).get("message") or ""
    print(f"{'ok' if good else 'BAD':4} {name:28} {verdict:14} {seconds:5.1f} s  {reason[:160]}", flush=True)
    if not good:
        print(f"     wanted one of {verdicts} with one of {words}; said: {text[:600]}")
    return good


def main():
    only = sys.argv[2:]
    worker = protocol_client.Worker([sys.argv[1], "serve"])
    pid = worker.process.pid
    source = (HERE / "reference.py").read_text()
    bad = 0
    for name, fmt, files, verdicts, words in CASES:
        if only and name not in only:
            continue
        start = time.monotonic()
        outcome = worker.wait(worker.start(source, files, fmt, task=LIMITS), 90)
        bad += not judge(worker, name, outcome, verdicts, words, time.monotonic() - start)
    for name, text, verdicts, words in TASKS:
        if only and name not in only:
            continue
        start = time.monotonic()
        fmt, files = native()
        outcome = worker.wait(worker.start(text, files, fmt, task=LIMITS), 90)
        bad += not judge(worker, name, outcome, verdicts, words, time.monotonic() - start)
    if not only:
        fmt, files = native()
        start = time.monotonic()
        outcome = worker.wait(worker.start(source, files, fmt, task=LIMITS), 90)
        bad += not judge(worker, "honest, last of all", outcome, ["correct"], ("",), time.monotonic() - start)
    alive = worker.process.poll() is None and worker.process.pid == pid
    print(f"worker {pid} {'is still the same process' if alive else 'DIED'}")
    worker.close()
    return 1 if bad or not alive else 0


sys.exit(main())
