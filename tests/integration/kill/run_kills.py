#!/usr/bin/env python3
# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""SIGKILL of an arm or a compiler in mid-flight: the request ends with a reason, the same worker goes on, nothing is left.

run_kills.py LATHE_WORKER [NAME...]"""
import os
import pathlib
import shutil
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "verdicts")]
import process_tree  # noqa: E402
import protocol_client  # noqa: E402
from cases import KERNEL, RIGHT, native, plain  # noqa: E402

SOURCE = (HERE.parent / "verdicts" / "reference.py").read_text()
LIMITS = {"importTimeoutSeconds": 60, "forwardTimeoutSeconds": 40}
DEADLINE = 90
# The kernel's name of the process, so that it can be found from outside, whatever user it runs as.
NAMED = "import ctypes, time\nctypes.CDLL(None).prctl(15, b'{name}', 0, 0, 0)\n"
# Some seconds of a compiler's time: constants that it has to compute.
SLOW = """
template <int N> constexpr long churn()
{
    long sum = N;
    for (long i = 0; i < 4; ++i)
        for (long j = 0; j < 100000; ++j)
            sum += i ^ j;
    return sum;
}
extern const long kChurned[4];
const long kChurned[4] = {churn<1>(), churn<2>(), churn<3>(), churn<4>()};
"""


class Failed(Exception):
    pass


def require(holds, text):
    if not holds:
        raise Failed(text)


def reason(outcome):
    part = outcome["done"] or outcome["failure"] or {}
    return str(part.get("reason") or part.get("message"))


def verdict(outcome):
    return outcome["done"].get("verdict") if outcome["done"] else "failure " + outcome["failure"]["code"]


class Kills:
    def __init__(self, program):
        self.cache = pathlib.Path(tempfile.mkdtemp(prefix="lathe-kill-"))
        self.shared = set(os.listdir("/dev/shm"))
        self.worker = protocol_client.Worker([program, "serve", "--cache", str(self.cache)])
        self.pid = self.worker.process.pid
        self.seen = {}
        self.made = 0

    def start(self, made, source=SOURCE, **more):
        fmt, files = made
        return self.worker.start(source, files, fmt, task=LIMITS, against=["eager"], **more)

    def wait(self, request):
        outcome = self.worker.wait(request, DEADLINE)
        self.seen |= {pid: row[2] for pid, row in process_tree.below(self.pid).items()}
        return outcome

    def find(self, name, seconds=60):
        return process_tree.wait_for(self.pid, lambda _, row: row[1] == name, seconds, name)[0]

    def kill(self, pid):
        self.seen |= {p: row[2] for p, row in process_tree.below(self.pid).items()}
        process_tree.kill(self.pid, pid)

    def honest(self, **more):
        """A candidate never seen before, so that a build is part of it."""
        self.made += 1
        outcome = self.wait(self.start(native(f"/* {self.made} */"), **more))
        require(verdict(outcome) == "correct", f"the next candidate is {verdict(outcome)}: {reason(outcome)}")

    # --- the arms

    def arm(self, which, expected, words):
        """While the candidate's forward runs: its phase, its zygote or its sandbox dies."""
        self.made += 1
        body = NAMED.format(name="lathe-victim") + f"time.sleep(30)  # {self.made}\n" + RIGHT
        request = self.start(plain(body))
        victim = self.find("lathe-victim")
        tree = process_tree.below(self.pid)
        target = {"phase": victim, "zygote": tree[victim][0],
                  "sandbox": process_tree.outermost(self.pid, victim, "bwrap")}[which]
        begun = time.monotonic()
        self.kill(target)
        outcome = self.wait(request)
        took = time.monotonic() - begun
        require(verdict(outcome) in expected, f"{verdict(outcome)}: {reason(outcome)}")
        require(any(word in reason(outcome).lower() for word in words), f"says only: {reason(outcome)}")
        require(took < 15, f"took {took:.1f} s to notice")
        require(not process_tree.alive(victim, tree[victim][2]), "the phase outlived it")
        self.honest()

    def candidate_phase(self):
        self.arm("phase", ["crashed"], ["sigkill", "killed", "signal 9"])

    def candidate_zygote(self):
        self.arm("zygote", ["crashed"], ["gone", "sigkill", "killed", "ended", "closed"])

    def candidate_sandbox(self):
        self.arm("sandbox", ["crashed"], ["gone", "sigkill", "killed", "ended", "closed"])

    def timed_phase(self):
        """While it is being measured."""
        self.made += 1
        body = NAMED.format(name="lathe-victim") + f"time.sleep(0.05)  # {self.made}\n" + RIGHT
        request = self.start(plain(body), until="bench", minSeconds=20)
        while True:
            frame = self.worker.receive(DEADLINE)
            require(frame["type"] == protocol_client.EVENT, f"ended too soon: {frame['json']}")
            if frame["json"].get("stage") == "bench":
                break
        time.sleep(0.5)
        self.kill(self.find("lathe-victim"))
        outcome = self.wait(request)
        require(verdict(outcome) in ("crashed", "failure internal"), f"{verdict(outcome)}: {reason(outcome)}")
        require(reason(outcome), "no reason")
        self.honest()

    def reference(self, which):
        """While the reference computes what is right; the same task is judged afterwards."""
        self.made += 1
        once = "\nimport ctypes, time\nasked = []\n\n\ndef show():\n    if not asked:\n        asked.append(1)\n" \
               "        ctypes.CDLL(None).prctl(15, b'lathe-ref', 0, 0, 0)\n        time.sleep(5)\n"
        source = SOURCE.replace("\n\nclass Model", once + f"\n\n# {self.made}\nclass Model", 1)
        source = source.replace("    def forward(self, x):\n", "    def forward(self, x):\n        show()\n")
        require(source.count("show()") == 2, "the reference has another shape than this test thinks")
        request = self.start(native(), source)
        victim = self.find("lathe-ref")
        self.kill(victim if which == "phase" else process_tree.below(self.pid)[victim][0])
        outcome = self.wait(request)
        # A sandbox that is gone as a whole is started again within the same request.
        if verdict(outcome) != "correct":
            require(verdict(outcome) == "refused" or outcome["failure"], f"{verdict(outcome)}: {reason(outcome)}")
            require("reference" in reason(outcome).lower(), f"does not say whose fault it is: {reason(outcome)}")
        outcome = self.wait(self.start(native(), source))
        require(verdict(outcome) == "correct", f"the same task afterwards: {verdict(outcome)}: {reason(outcome)}")

    def reference_phase(self):
        self.reference("phase")

    def reference_zygote(self):
        self.reference("zygote")

    def idle_arms(self):
        """Everything that waits between requests dies: the next request starts it anew."""
        self.honest()
        for _ in range(3):
            for pid, row in process_tree.below(self.pid).items():
                if row[1] != "bwrap":
                    try:
                        self.kill(pid)
                    except LookupError:
                        pass  # ended by itself, or with one that was killed before it
            self.honest()

    # --- the compiler

    def compiler(self, name, pick=lambda tree, pid: pid, more=None):
        self.made += 1
        fmt, files = native(f"/* {self.made} */", kernel=SLOW + KERNEL)
        files |= more or {}
        before = self.entries()
        request = self.start((fmt, files))
        victim = self.find(name)
        self.kill(pick(process_tree.below(self.pid), victim))
        outcome = self.wait(request)
        require(verdict(outcome) == "build_failed" or outcome["failure"], f"{verdict(outcome)}: {reason(outcome)}")
        require(len(reason(outcome)) > 10, f"says only: {reason(outcome)}")
        require(self.entries() == before, f"left in the cache: {self.entries() - before}")
        builds = []
        for _ in range(2):
            outcome = self.wait(self.start((fmt, files)))
            require(verdict(outcome) == "correct", f"built again: {verdict(outcome)}: {reason(outcome)}")
            builds.append([e["report"]["cached"] for e, _ in outcome["events"] if e["event"] == "build"][-1])
        require(builds == [False, True], f"cached: {builds}")
        for entry in self.entries() - before:
            require((self.builds() / entry / "report.json").exists() and (self.builds() / entry / "candidate/kernels.so").exists(),
                    f"{entry} is half an entry")

    def builds(self):
        found = [p for p in self.cache.rglob("report.json")]
        return found[0].parent.parent if found else self.cache / "none"

    def entries(self):
        return set(os.listdir(self.builds())) if self.builds().exists() else set()

    def cc1plus(self):
        self.compiler("cc1plus")

    def compiler_driver(self):
        self.compiler("cc1plus", lambda tree, pid: tree[pid][0])

    def compiler_sandbox(self):
        self.compiler("cc1plus", lambda tree, pid: process_tree.outermost(self.pid, pid, "bwrap"))

    def one_of_two_units(self):
        self.compiler("cc1plus", more={"kernels/second.cpp": SLOW.replace("kChurned", "kSecond")})

    # --- all of them

    def run(self, only):
        bad = 0
        self.honest()  # everything that is made once is there
        scratch = self.scratch()
        names = ["candidate_phase", "candidate_zygote", "candidate_sandbox", "timed_phase", "reference_phase", "reference_zygote",
                 "idle_arms", "cc1plus", "compiler_driver", "compiler_sandbox", "one_of_two_units"]
        for name in names:
            if only and name not in only:
                continue
            begun = time.monotonic()
            try:
                getattr(self, name)()
                said = ""
            except (Failed, TimeoutError, EOFError, LookupError) as error:
                said = f"{type(error).__name__}: {error}"
                bad += 1
            print(f"{'BAD' if said else 'ok':4} {name:20} {time.monotonic() - begun:5.1f} s  {said}", flush=True)
        if self.worker.process.poll() is not None:
            print("BAD  the worker died")
            return bad + 1
        grown = len(self.scratch()) - len(scratch)
        if grown > 4:  # two tasks and two candidates may stay open
            print(f"BAD  scratch grew by {grown} folders: {sorted(self.scratch() - scratch)}")
            bad += 1
        return bad

    def scratch(self):
        """Folders of this worker outside its caches."""
        places = [pathlib.Path(tempfile.gettempdir()), self.cache]
        return {str(p) for place in places for p in place.glob(f"*{self.pid}*/*")}

    def end(self):
        self.seen |= {pid: row[2] for pid, row in process_tree.below(self.pid).items()}
        self.worker.close()
        bad = 0
        end = time.monotonic() + 5
        left = [pid for pid, start in self.seen.items() if process_tree.alive(pid, start)]
        while left and time.monotonic() < end:
            time.sleep(0.05)
            left = [pid for pid in left if process_tree.alive(pid, self.seen[pid])]
        if left:
            print(f"BAD  outlived the worker: {left}")
            bad += 1
        shared = set(os.listdir("/dev/shm")) - self.shared
        mine = {name for name in shared if "lathe" in name}
        if mine:
            print(f"BAD  left in /dev/shm: {mine}")
            bad += 1
        if self.scratch():
            print(f"BAD  left on disk: {self.scratch()}")
            bad += 1
        shutil.rmtree(self.cache, ignore_errors=True)
        return bad


def main():
    kills = Kills(sys.argv[1])
    bad = 1
    try:
        bad = kills.run(sys.argv[2:])
    finally:
        bad += kills.end()
    print(f"{len(kills.seen)} processes were seen below worker {kills.pid}")
    return 1 if bad else 0


sys.exit(main())
