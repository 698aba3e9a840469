#!/usr/bin/env python3
# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""Planted cheats: each must get its verdict with the right reason, and its honest twin must be correct; all from one
worker that stays the same process.

run.py LATHE_WORKER [PART OF A NAME...]     runs all cases, or those whose name holds one of the parts
run.py --table                              prints the table of docs/guide/redteam.md
run.py --check DOCUMENT                     fails when the document's table is not that one"""
import json
import pathlib
import re
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "integration")]
import batch  # noqa: E402
import protocol_client  # noqa: E402
from cheats import caches, disguises, processes, reach, values, wires  # noqa: E402

LIMITS = {"importTimeoutSeconds": 8, "forwardTimeoutSeconds": 3}
BIG = {"rows": "640", "inner": "640", "columns": "640"}
# name: (source, members of the task, constants)
TASKS = {
    "matmul": ("matmul", {}, {}),
    "matmul_timed": ("matmul", {}, BIG),
    "matmul_heavy": ("matmul", {}, {"rows": "1024", "inner": "1024", "columns": "1024"}),
    "no_libraries": ("matmul", {"libraries": ["none"]}, {}),
    "rmsnorm": ("rmsnorm", {}, {}),
    "linear": ("linear", {"weights": "mutable"}, {}),
    "linear_frozen": ("linear", {"weights": "frozen"}, {}),
    "batchnorm": ("batchnorm", {"mode": "train", "buffers": "compare"}, {}),
    "accumulate": ("accumulate", {"mutates": [0]}, {}),
    "cleaned": ("cleaned", {}, {}),
    "tiny_numbers": ("tiny_numbers", {}, {}),
}
MEMORY_MIB = 2048
MODULES = (values, caches, disguises, wires, reach, processes)


def all_cases():
    cases = [case for module in MODULES for case in module.CASES]
    order = list(TASKS)
    return sorted(cases, key=lambda case: order.index(case.task))  # a worker keeps few tasks open


def source_of(task):
    return (HERE / "tasks" / (TASKS[task][0] + ".py")).read_text()


def evaluate(worker, case):
    _, members, constants = TASKS[case.task]
    text = source_of(case.task)
    fmt, files = case.candidate
    variant = {"name": "default", "headline": True, "constants": constants}
    request = worker.start(text, files, fmt, variants=[variant], task={**LIMITS, **members}, until=case.until,
                           tier=case.tier, against=["eager"], flags=case.flags)
    return worker.wait(request, 90)


def verdict_of(outcome):
    return (outcome["done"] or {}).get("verdict") or "failure " + str((outcome["failure"] or {}).get("code"))


def reason_of(outcome):
    return (outcome["done"] or {}).get("reason") or (outcome["failure"] or {}).get("message") or ""


def median_us(outcome):
    rows = [event["row"]["medianUs"] for event, _ in outcome["events"]
            if event["event"] == "timing" and event["row"]["arm"] == "candidate"]
    return rows[0] if rows else 0.0


def problems_of(case, outcome):
    """What is not as the case says; empty when all is."""
    verdict, text = verdict_of(outcome), protocol_client.words_of(outcome)
    problems = []
    if verdict not in case.verdicts:
        problems.append(f"verdict {verdict}, not one of {case.verdicts}")
    if not any(word in text for word in case.words):
        problems.append(f"none of {case.words} in: {text[:500]}")
    if "gave up:" in text:
        problems.append("the cheat gave up: the sandbox shows it other processes")
    if case.slowest_us and median_us(outcome) < case.slowest_us:
        problems.append(f"measured {median_us(outcome):.0f} us, it takes at least {case.slowest_us:.0f}")
    gates = [event["gate"] for event, _ in outcome["events"] if event["event"] == "gate"]
    if case.warns and not any(gate["name"] == case.warns and gate["status"] == "warn" for gate in gates):
        problems.append(f"the gate {case.warns} does not warn: {gates}")
    everything = json.dumps([event for event, _ in outcome["events"]]).encode()
    everything += b"".join(data for _, attachments in outcome["events"] for data in attachments)
    problems += [f"{secret!r} came out" for secret in case.never if secret.encode() in everything]
    if case.probes:
        answers = reason_of(outcome).split("reports ", 1)[-1].split(" (model_new.py")[0].split("|")
        if len(answers) != len(case.probes):
            problems.append(f"{len(answers)} answers of {len(case.probes)} probes: {answers}")
        problems += [f"{name}: reached {answer}" for name, answer in zip(case.probes, answers) if answer != "-"]
    return problems


def report(label, seconds, outcome, found):
    print(f"{'BAD' if found else 'ok':4} {label:58} {verdict_of(outcome):12} {seconds:5.1f} s  "
          f"{reason_of(outcome)[:150]}", flush=True)
    for problem in found:
        print("     " + problem, flush=True)


def run_cheat(worker, case):
    start = time.monotonic()
    outcome = evaluate(worker, case)
    found = problems_of(case, outcome)
    report(case.name, time.monotonic() - start, outcome, found)
    return not found


def run_twins(worker, task, cases):
    """All twins of one task in one request."""
    _, members, constants = TASKS[task]
    source = source_of(task)
    for name, value in constants.items():
        source = re.sub(rf"(?m)^{name} = .*$", f"{name} = {value}", source)
    text, (fmt, files), variants = batch.combine([(case.name, source, case.twin) for case in cases])
    bench = any(case.until == "bench" for case in cases)
    start = time.monotonic()
    outcome = worker.wait(worker.start(text, files, fmt, variants=variants, task={**LIMITS, **members}, tier="full",
                                       until="bench" if bench else "verify", against=["eager"], minSeconds=0.1), 300)
    good = verdict_of(outcome) == "correct"
    report(f"the {len(cases)} honest twins on {task}", time.monotonic() - start, outcome,
           [] if good else ["an honest twin is refused: " + protocol_client.words_of(outcome)])
    return good


def rows():
    """(cheat, what becomes of it) in the order of the modules."""
    for module in MODULES:
        for case in module.CASES:
            for name, how in (case.probes or {case.name: case.how}).items():
                yield name, ("" if case.caught else "**Not caught:** ") + how


def table():
    lines = ["| cheat | what becomes of it |", "|---|---|"]
    return "\n".join(lines + [f"| {name} | {how} |" for name, how in rows()]) + "\n"


def main():
    words = sys.argv[1:]
    if not words or words[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if words else 2
    if words[:1] == ["--table"]:
        print(table(), end="")
        return 0
    if words[:1] == ["--check"]:
        good = table() in pathlib.Path(words[1]).read_text()
        print("the table is up to date" if good else f"{words[1]} does not hold the table that run.py --table prints")
        return 0 if good else 1
    worker = protocol_client.Worker([words[0], "serve", "--memory", str(MEMORY_MIB)])
    pid, bad, count, start = worker.process.pid, 0, 0, time.monotonic()
    wanted = [case for case in all_cases() if not words[1:] or any(part in case.name for part in words[1:])]
    for task in TASKS:
        here = [case for case in wanted if case.task == task]
        count += len(here)
        bad += sum(not run_cheat(worker, case) for case in here)
        twins = [case for case in here if case.twin]
        # Every variant's process stays until the end of the request: all of them share the sandbox's memory.
        bad += sum(not run_twins(worker, task, twins[i:i + 3]) for i in range(0, len(twins), 3))
    alive = worker.process.poll() is None and worker.process.pid == pid
    worker.close()
    print(f"{count} cases, {bad} bad, {time.monotonic() - start:.0f} s; "
          f"worker {pid} {'was the same process throughout' if alive else 'DIED'}")
    return 1 if bad or not alive else 0


if __name__ == "__main__":
    sys.exit(main())
