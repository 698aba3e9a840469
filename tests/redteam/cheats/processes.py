# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""Cheats that end, kill, multiply or fill."""
from case import ALONE, Case, native, python

RIGHT = "return a @ b"
LIMITS = "the sandbox's limits"

CASES = [
    Case("exit at load", "matmul", python("matmul", RIGHT, top="os._exit(0)"), ("crashed", "load_failed"), ("exited",),
         "an exit code proves nothing: no answer is a crash"),
    Case("sys.exit at load", "matmul", python("matmul", RIGHT, top="sys.exit(0)"), ("load_failed",), ("systemexit",),
         "an exception like any other"),
    Case("exit in forward, with a verdict on stdout", "matmul",
         python("matmul", """
            print('{"verdict": "correct", "reward": 3}', flush=True)
            os.write(2, b'PASSED\\n')
            os._exit(0)
         """), ("crashed",), ("exited",), "the candidate's output is a log and never a verdict"),
    Case("exit without a word by a signal", "matmul",
         python("matmul", "import signal\nos.kill(os.getpid(), signal.SIGKILL)"), ("crashed",), ("sigkill",),
         "no answer is a crash"),
    Case("kills every pid it sees", "matmul",
         python("matmul", """
            import signal
            pids = alone()
            for pid in pids:
                if pid != os.getpid():
                    for number in (signal.SIGSTOP, signal.SIGKILL):
                        try:
                            os.kill(pid, number)
                        except OSError:
                            pass
            left = alone()
            assert len(left) >= len(pids), "something died"
            return a @ b
         """, top=ALONE), ("correct",), ("",),
         "harmless: only the sandbox's processes can be seen, and those belong to other users", caught=True),
    Case("fork bomb", "matmul",
         python("matmul", """
            alone()
            made = 0
            try:
                for _ in range(20000):
                    if os.fork() == 0:
                        time.sleep(60)
                        os._exit(0)
                    made += 1
            except OSError as error:
                raise RuntimeError(f"held after {made} forks: {error}")
            raise RuntimeError("NOT HELD")
         """, top=ALONE), ("crashed",), ("held after",), LIMITS + ": processes; all of them die with the phase"),
    Case("memory by heap", "matmul",
         python("matmul", """
            alone()
            held = []
            for _ in range(64):
                held.append(b"x" * (128 << 20))
            raise RuntimeError("NOT HELD")
         """, top=ALONE), ("crashed",), ("sigkill", "memoryerror"), LIMITS + ": memory, by control group",
         twin=python("matmul", "held = bytearray(128 << 20)\ndel held\nreturn a @ b")),
    Case("memory by shared memory", "matmul",
         python("matmul", """
            alone()
            written = 0
            try:
                with open("/dev/shm/fill", "wb", 0) as file:
                    while written < 8 << 30:
                        written += file.write(b"x" * (16 << 20))
            except OSError as error:
                raise RuntimeError(f"held after {written >> 20} MiB: {error}")
            raise RuntimeError("NOT HELD")
         """, top=ALONE), ("crashed",), ("held after", "sigkill"), LIMITS + ": a private /dev/shm of limited size"),
    Case("memory by memfd", "matmul",
         python("matmul", """
            alone()
            held = []
            for _ in range(64):
                fd = os.memfd_create("fill")
                held.append(fd)
                for _ in range(8):
                    os.write(fd, b"x" * (16 << 20))
            raise RuntimeError("NOT HELD")
         """, top=ALONE), ("crashed",), ("sigkill", "oserror"),
         LIMITS + ": memory, by control group, which counts memfds. Without a writable control group: not caught"),
    Case("1 GB of stdout", "matmul",
         python("matmul", """
            if not self.done:
                self.done = True
                line = b"x" * (1 << 20)
                for _ in range(1024):
                    os.write(1, line)
            return a @ b
         """, init="self.done = False"), ("correct",), ("",),
         "harmless: output is drained and only its last 64 KiB are kept"),
    Case("endless forward", "matmul", python("matmul", "while True: pass"), ("timeout",), ("forward",),
         "a deadline for every phase, then SIGKILL for all of the phase's processes"),
    Case("ignores signals and hangs", "matmul",
         python("matmul", """
            import signal
            for number in range(1, 65):
                try:
                    signal.signal(number, signal.SIG_IGN)
                except (OSError, ValueError):
                    pass
            while True:
                time.sleep(1)
         """), ("timeout",), ("forward",), "SIGKILL cannot be ignored"),
    Case("child outlives the phase", "matmul",
         python("matmul", """
            alone()
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    while True:
                        pass
                os._exit(0)
            raise RuntimeError("left one behind")
         """, top=ALONE), ("crashed",), ("left one behind",),
         "whatever has the phase's user id is killed with it, and the process namespace when the sandbox goes"),
    Case("starts a process while it is timed, to disturb the others", "matmul",
         python("matmul", """
            self.calls += 1
            if self.calls == 200 and os.fork() == 0:
                end = time.monotonic() + 20
                while time.monotonic() < end:
                    pass
                os._exit(0)
            return a @ b
         """, init="self.calls = 0"), ("rejected",), ("further process",),
         "re-verification: processes started while timing are stopped with the candidate's and reject it",
         until="bench", tier="full"),
    Case("exchanges a sleeping process for one that disturbs the others", "matmul",
         python("matmul", """
            self.calls += 1
            if self.calls == 300:
                os.kill(self.child, signal.SIGKILL)
                os.waitpid(self.child, 0)
                if os.fork() == 0:
                    end = time.monotonic() + 20
                    while time.monotonic() < end:
                        pass
                    os._exit(0)
            return a @ b
         """, top="import signal", init="""
            self.calls = 0
            self.child = os.fork()
            if self.child == 0:
                time.sleep(60)
                os._exit(0)
         """), ("rejected",), ("further process",),
         "re-verification: processes are told apart by number and start, not counted", until="bench", tier="full"),
    Case("threads left running, spinning while others are timed", "matmul_timed",
         native("matmul_timed", "lathe_native.spin(1)\nreturn a @ b", """
            #include <thread>
            static void spin(int64_t count)
            {
                static bool started = false;
                for (int64_t i = 0; !started && i < count; ++i)
                    std::thread([] { for (volatile long n = 0;; ++n) {} }).detach();
                started = true;
            }
            LATHE_EXPORT(spin, spin);
         """), ("rejected",), ("idle", "nothing"),
         "idle: a process that is asked nothing must not use the processor; while others are timed it is stopped",
         tier="full", twin=python("matmul_timed", "return a @ b", init="""
            self.go = threading.Event()
            threading.Thread(target=self.go.wait, daemon=True).start()
         """)),
    Case("__del__ and atexit", "matmul",
         python("matmul", """
            class Tail:
                def __del__(self):
                    os._exit(0)
            self.tail = Tail()
            return a @ b
         """, top="""
            import atexit
            atexit.register(lambda: os.write(1, b"correct"))
         """), ("correct", "crashed"), ("",),
         "harmless: a process that is asked nothing more is killed, no destructor decides anything"),
    Case("destructor that ends the second call", "matmul",
         python("matmul", """
            class Tail:
                def __del__(self):
                    os._exit(0)
            self.tail = Tail()
            return a @ b
         """), ("crashed",), ("exited",), "no answer is a crash"),
    Case("stack overflow", "matmul",
         native("matmul", "lathe_native.deep(100000000)\nreturn a @ b", """
            static int64_t down(int64_t n)
            {
                volatile char room[4096];
                room[n % 4096] = 1;
                return n == 0 ? room[0] : down(n - 1) + room[n % 4096];
            }
            static void deep(int64_t n) { volatile int64_t sink = down(n); (void)sink; }
            LATHE_EXPORT(deep, deep);
         """), ("crashed",), ("sigsegv",), "no answer is a crash"),
]
