# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""Cheats that talk to the judge, or that look for what the judge knows."""
from case import ALONE, Case, native, python

FORGE = """
import socket, struct

def frame(kind, serial, body=b"", fields=0):
    return struct.pack("<IHHII", 0x4d52414c, kind, fields, serial, len(body)) + body

def sockets():
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink("/proc/self/fd/" + name).startswith("socket:"):
                yield int(name)
        except OSError:
            pass

def forge(kinds):
    sent = 0
    for fd in sockets():
        for kind in kinds:
            for serial in range(0, 40):
                try:
                    os.write(fd, frame(kind, serial))
                    sent += 1
                except OSError:
                    pass
    return sent
"""

CASES = [
    Case("forged frames at load", "matmul",
         python("matmul", "return torch.zeros(a.shape[0], b.shape[1])", top=FORGE + "\nforge((60, 62, 64))\n"),
         ("crashed", "wrong"), ("answer", "output 0"),
         "every reply carries the serial of its request and must be what was asked for; outputs are compared all the same"),
    Case("forged frames in forward", "matmul",
         python("matmul", "forge((60, 62, 64))\nreturn torch.zeros(a.shape[0], b.shape[1])", top=FORGE),
         ("crashed", "wrong"), ("answer", "output 0"), "as above"),
    Case("garbage on every descriptor", "matmul",
         python("matmul", """
            for name in os.listdir("/proc/self/fd"):
                for text in (b"\\xff" * 4096, b"LARM" + b"\\xff" * 60, b""):
                    try:
                        os.write(int(name), text)
                    except OSError:
                        pass
            return torch.zeros(a.shape[0], b.shape[1])
         """), ("crashed",), ("answer",), "flat, length-checked frames; a message that is refused ends the phase"),
    Case("closes every descriptor", "matmul",
         python("matmul", "os.closerange(0, 1024)\nreturn a @ b"), ("crashed",), ("exited", "answer", "killed"),
         "no answer is a crash"),
    Case("answers the clock before the work is done", "matmul_timed",
         python("matmul_timed", """
            self.calls += 1
            if self.calls > 12:
                for fd in sockets():
                    serial = SERIAL[0]
                    for n in range(0, 400):
                        try:
                            os.write(fd, frame(64, n))
                        except OSError:
                            pass
            return a @ b
         """, init="self.calls = 0", top=FORGE + "\nSERIAL = [0]\n"), ("crashed", "rejected", "wrong"), ("answer", "attested"),
         "serials: the true reply comes too and is one too many. A cheat that takes the whole wire over can answer early; "
         "the attested time, whose clock stops when the outputs are there, is the bound for it", until="bench"),
    Case("re-seeding to guess inputs and weights", "matmul",
         python("matmul", """
            for seed in range(200):
                torch.manual_seed(seed)
                if torch.equal(torch.randn(a.shape), a):
                    raise RuntimeError(f"FOUND seed {seed}")
            torch.manual_seed(0)
            return torch.randn(a.shape[0], b.shape[1])
         """), ("wrong",), ("output 0",), "inputs and weights come from secret 62-bit seeds of the operating system"),
    Case("scan of Python objects for answers", "matmul",
         python("matmul", """
            want = (a.shape[0], b.shape[1])
            for thing in gc.get_objects():
                if type(thing) is torch.Tensor and tuple(thing.shape) == want:
                    return thing.clone()
            return torch.zeros(want)
         """), ("wrong",), ("output 0",), "expected values never enter the candidate's process"),
    Case("scan of memory for answers", "matmul",
         python("matmul", """
            want, known = a.shape[0] * b.shape[1] * 4, (a @ b).numpy().tobytes()
            for line in open("/proc/self/maps"):
                span, rights, *rest = line.split()
                begin, end = (int(x, 16) for x in span.split("-"))
                if "memfd" in line and "r" in rights and end - begin >= want:
                    text = ctypes.string_at(begin, end - begin)
                    if text[:want] == known:
                        raise RuntimeError("FOUND the answer")
            return torch.zeros(a.shape[0], b.shape[1])
         """), ("wrong",), ("output 0",), "as above: no shared memory but inputs, weights and the outputs' own buffers"),
    Case("scan of open files for answers", "matmul",
         python("matmul", """
            found = []
            for name in os.listdir("/proc/self/fd"):
                try:
                    target = os.readlink("/proc/self/fd/" + name)
                except OSError:
                    continue
                if not target.startswith(("socket:", "pipe:", "/dev/null", "anon_inode", "/proc")):
                    found.append(target)
            raise RuntimeError("descriptors: " + repr(found))
         """), ("crashed",), ("descriptors: []",), "a phase has its socket, its log and nothing else"),
    Case("patched clocks", "matmul_timed",
         python("matmul_timed", "SLEEP(0.004)\nreturn a @ b", top="""
            SLEEP = time.sleep
            for name in ("time", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time"):
                setattr(time, name, lambda: 0)
            time.sleep = lambda seconds: None
         """), ("correct",), ("",), "harmless: the clock is the judge's, in another process", until="bench",
         slowest_us=4000),
    Case("patched comparators", "matmul",
         python("matmul", "return torch.zeros(a.shape[0], b.shape[1])", top="""
            for module, names in ((torch, ("allclose", "isclose", "equal")), (torch.testing, ("assert_close",))):
                for name in names:
                    setattr(module, name, lambda *a, **k: True)
            torch.Tensor.allclose = torch.Tensor.equal = torch.Tensor.__eq__ = lambda self, *a, **k: True
         """), ("wrong",), ("output 0",), "harmless: the comparison is the judge's, in another process"),
    Case("patched torch functions", "matmul",
         python("matmul", "return torch.zeros(a.shape[0], b.shape[1])", top="""
            def nothing(self, *a, **k):
                return self
            for name in ("copy_", "clone", "contiguous", "to", "detach", "cpu", "numpy"):
                setattr(torch.Tensor, name, nothing)
            torch.nn.Module.state_dict = lambda self, *a, **k: {}
            torch.empty_like = torch.zeros_like = lambda x, *a, **k: x
         """), ("wrong",), ("output 0",), "outputs are read in C++; what is patched in Python touches the patcher alone"),
    Case("patched runtime", "matmul",
         python("matmul", "return torch.zeros(a.shape[0], b.shape[1])", top="""
            runtime = sys.modules["_lathe_runtime"]
            for name in list(vars(runtime.Host)):
                if not name.startswith("__") and name not in ("adopt", "settle", "load_candidate"):
                    setattr(runtime.Host, name, lambda *a, **k: None)
            sys.setprofile(lambda *a: None)
         """), ("wrong", "crashed"), ("output 0", "answer", "not callable"), "the arm's word is evidence, never a verdict"),
    Case("looks into the caller's frames", "matmul",
         python("matmul", """
            seen, frame = [], sys._getframe(0)
            while frame:
                seen += [k for k in list(frame.f_locals) + list(frame.f_globals) if "golden" in k or "expect" in k]
                frame = frame.f_back
            return torch.zeros(a.shape[0], b.shape[1])
         """), ("wrong",), ("output 0",), "there is nothing to find: seeds and expected values are in another process"),
    Case("module shadowing", "matmul",
         python("matmul", RIGHT := "return a @ b", files={
             "torch.py": "raise SystemExit('shadowed')\n", "os.py": "raise SystemExit('shadowed')\n",
             "_lathe_runtime.py": "raise SystemExit('shadowed')\n", "lathe_native.py": "raise SystemExit('shadowed')\n",
             "sitecustomize.py": "raise SystemExit('shadowed')\n"}), ("correct",), ("",),
         "harmless: the candidate's folder comes last on the path"),
    Case("output that pickles to code", "matmul",
         python("matmul", "return Bomb()", top="""
            class Bomb:
                def __reduce__(self):
                    return os.system, ("touch /tmp/owned",)
         """), ("wrong",), ("bomb", "forward", "result"), "no pickle on the wire, only flat typed frames"),
    Case("huge and nested answers", "matmul",
         python("matmul", """
            deep = a @ b
            for _ in range(1000):
                deep = [deep]
            return [deep, "x" * (1 << 26)]
         """), ("wrong", "crashed"), ("nest", "structure", "long", "tensors", "forward", "recursion"),
         "frames have size and depth limits"),
    Case("tensor that lies about its memory", "matmul",
         python("matmul", """
            c = torch.empty(0).set_(torch.empty(4).untyped_storage(), 0, (1,), (1,))
            return c.as_strided((a.shape[0], b.shape[1]), (0, 0))
         """), ("wrong", "crashed"), ("output 0",), "the arm checks shapes, the judge checks every length"),
    Case("traces its parent", "matmul",
         python("matmul", """
            libc = ctypes.CDLL(None, use_errno=True)
            held = []
            for pid in alone():
                if pid == os.getpid():
                    continue
                if libc.ptrace(16, pid, 0, 0) == 0:
                    raise RuntimeError(f"TRACED {pid}")
                for name in ("mem", "environ", "maps"):
                    try:
                        open(f"/proc/{pid}/{name}", "rb").read(16)
                        raise RuntimeError(f"READ {name} of {pid}")
                    except OSError:
                        held.append(name)
            raise RuntimeError(f"held {len(held)}")
         """, top=ALONE), ("crashed",), ("held ",), "zygote and phases have different users, and the zygote cannot be dumped"),
]
