#!/usr/bin/env python3
# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""Many evaluations on one worker: nothing grows. Then SIGKILL of random processes of its own, the worker among them,
while it works: every request ends with a verdict or a clear error, and what comes next is judged.

run_endurance.py LATHE_WORKER [--evaluations N] [--kill-minutes M] [--seed S]"""
import argparse
import os
import pathlib
import random
import shutil
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "verdicts"), str(HERE.parent / "kill")]
import process_tree  # noqa: E402
import protocol_client  # noqa: E402
from cases import RIGHT, native, plain  # noqa: E402

SOURCE = (HERE.parent / "verdicts" / "reference.py").read_text()
LIMITS = {"importTimeoutSeconds": 60, "forwardTimeoutSeconds": 20}
DEADLINE = 180
LOOK_EVERY = 25
WARM_UP = 100  # allocators and caches have their size by then


def candidates(number):
    """What evaluation `number` judges: (what, candidate, verdicts). Every second one is a build never made before."""
    kind = number % 8
    if kind in (0, 2, 4):
        return "a new build", native(f"/* {number} */"), ("correct",)
    if kind == 1:
        return "a known build", native("/* known */"), ("correct",)
    if kind == 3:
        return "Python alone", plain(RIGHT), ("correct",)
    if kind == 5:
        return "a wrong result", plain("return torch.relu(x) * self.weight + 1"), ("wrong",)
    if kind == 6:
        return "a crash", plain(f"os._exit({number % 100})"), ("crashed",)
    return "a compile error", native(f"int broken{number}("), ("build_failed",)


def verdict(outcome):
    return outcome["done"].get("verdict") if outcome["done"] else "failure " + str(outcome["failure"].get("code"))


def reason(outcome):
    part = outcome["done"] or outcome["failure"] or {}
    return str(part.get("reason") or part.get("message") or "")


def folder_bytes(folder):
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(root, name)).st_size
            except OSError:
                pass
    return total


class Endurance:
    def __init__(self, program, seed):
        self.program = program
        self.random = random.Random(seed)
        self.cache = pathlib.Path(tempfile.mkdtemp(prefix="lathe-endurance-"))
        self.shared = set(os.listdir("/dev/shm"))
        self.seen = {}  # pid: start of everything that was ever below a worker
        self.begin()

    def begin(self):
        self.worker = protocol_client.Worker([self.program, "serve", "--cache", str(self.cache)])
        self.pid = self.worker.process.pid

    def evaluate(self, number):
        what, (fmt, files), expected = candidates(number)
        until = "bench" if number % 20 == 0 else "verify"
        request = self.worker.start(SOURCE, files, fmt, task=LIMITS, against=["eager"], until=until)
        return what, expected, self.worker.wait(request, DEADLINE)

    def look(self):
        """What the idle worker holds, after what it prepares in the background has settled."""
        end, last = time.monotonic() + 10, None
        while time.monotonic() < end:
            now = sorted(row[1] for row in process_tree.below(self.pid).values())
            if now == last:
                break
            last = now
            time.sleep(1)
        status = dict(line.split(":", 1) for line in open(f"/proc/{self.pid}/status") if ":" in line)
        return {"resident MiB": int(status["VmRSS"].split()[0]) / 1024, "threads": int(status["Threads"]),
                "descriptors": len(os.listdir(f"/proc/{self.pid}/fd")), "processes": len(process_tree.below(self.pid)),
                "/dev/shm": len(set(os.listdir("/dev/shm")) - self.shared), "cache MiB": folder_bytes(self.cache) / 2**20}

    def many(self, count):
        rows, bad = [], []
        begun = time.monotonic()
        for number in range(1, count + 1):
            what, expected, outcome = self.evaluate(number)
            if verdict(outcome) not in expected:
                bad.append(f"evaluation {number} ({what}): {verdict(outcome)}, {reason(outcome)}")
            if number % LOOK_EVERY == 0:
                rows.append((number, self.look()))
                print(f"{number:5} " + ", ".join(f"{k} {v:.1f}" if isinstance(v, float) else f"{k} {v}"
                                                 for k, v in rows[-1][1].items()), flush=True)
        print(f"{count} evaluations in {time.monotonic() - begun:.0f} s")
        settled = [row for number, row in rows if number >= min(WARM_UP, count // 2)]
        first, last = settled[0], settled[-1]
        for name in ("threads", "descriptors", "processes", "/dev/shm"):
            if last[name] > first[name]:
                bad.append(f"{name} grew from {first[name]} to {last[name]}")
        if last["resident MiB"] > first["resident MiB"] * 1.1 + 16:
            bad.append(f"resident memory grew from {first['resident MiB']:.0f} to {last['resident MiB']:.0f} MiB")
        return bad

    def killer(self, stop, log):
        """Kills one of the worker's own processes every few seconds, one time in ten the worker itself."""
        while not stop.wait(self.random.uniform(0.3, 4)):
            worker, pid = self.worker, self.pid
            tree = process_tree.below(pid)
            self.seen |= {p: row[2] for p, row in tree.items()}
            try:
                if not tree or self.random.random() < 0.1:
                    log.append("lathe-worker")
                    worker.process.kill()
                else:
                    victim = self.random.choice(sorted(tree))
                    log.append(tree[victim][1])
                    process_tree.kill(pid, victim)
            except (LookupError, ProcessLookupError):
                pass  # it ended by itself

    def kills(self, minutes):
        stop, log, bad, ends, number = threading.Event(), [], [], {}, 10_000
        said = {}
        thread = threading.Thread(target=self.killer, args=(stop, log))
        thread.start()
        end = time.monotonic() + 60 * minutes
        while time.monotonic() < end:
            number += 1
            try:
                what, _, outcome = self.evaluate(number)
                how = verdict(outcome)
                said.setdefault(how, set()).add(reason(outcome)[:150])
                if not reason(outcome):
                    bad.append(f"request {number} ({what}) ended {how} without a reason")
            except (EOFError, BrokenPipeError):
                how = "worker gone"
                self.worker.process.wait(10)
                self.begin()
            except TimeoutError:
                bad.append(f"request {number} did not end within {DEADLINE} s")
                self.worker.process.kill()
                self.begin()
                how = "no end"
            ends[how] = ends.get(how, 0) + 1
        stop.set()
        thread.join()
        if self.worker.process.poll() is not None:
            self.begin()
        print(f"{len(log)} kills in {minutes:g} minutes: " + ", ".join(
            f"{name} {log.count(name)}" for name in sorted(set(log))))
        print("ends: " + ", ".join(f"{how} {count}" for how, count in sorted(ends.items())))
        for how, reasons in sorted(said.items()):
            print(f"  {how}: " + " | ".join(sorted(reasons)[:6]))
        for after in range(4):
            _, expected, outcome = self.evaluate(20_000 + 2 * after)
            if verdict(outcome) not in expected:
                bad.append(f"afterwards a right candidate is {verdict(outcome)}: {reason(outcome)}")
        return bad

    def close(self):
        """Nothing is left of it."""
        self.seen |= {p: row[2] for p, row in process_tree.below(self.pid).items()}
        self.worker.close()
        time.sleep(3)
        bad = []
        left = [pid for pid, start in self.seen.items() if process_tree.alive(pid, start)]
        if left:
            bad.append(f"processes are left: {left}")
        shared = set(os.listdir("/dev/shm")) - self.shared
        if shared:
            bad.append(f"/dev/shm holds {sorted(shared)}")
        scratch = [p.name for p in self.cache.iterdir() if p.name.startswith("scratch-")]
        if scratch:
            bad.append(f"the cache folder holds {scratch}")
        shutil.rmtree(self.cache, ignore_errors=True)
        return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("worker")
    parser.add_argument("--evaluations", type=int, default=500)
    parser.add_argument("--kill-minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    endurance = Endurance(options.worker, options.seed)
    bad = endurance.many(options.evaluations) if options.evaluations else []
    if options.kill_minutes:
        bad += endurance.kills(options.kill_minutes)
    bad += endurance.close()
    for problem in bad:
        print("BAD  " + problem)
    print("nothing grew and every request ended well" if not bad else f"{len(bad)} problems")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
