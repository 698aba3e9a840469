# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""Results of an earlier call, of another instance, or of a later moment."""
from case import MATMUL_CALL, MATMUL_KERNEL, Case, native, python

FRESH = "fresh contents: the same memory gets other inputs, of which a few elements differ, and the outputs must follow"

# A call that follows the one before within a tenth of a millisecond is one of a burst: nobody has read outputs between.
BURST = """
            key = (a.data_ptr(), b.data_ptr())
            burst = time.perf_counter() - self.ended < 0.0001
            self.row = self.row + 1 if burst else 0
"""
BURST_INIT = "self.known, self.ended, self.row = {}, 0.0, 0"
BURST_DONE = """
            def done(self, answer, key, times):
                self.known[key] = (times, answer)
                self.ended = time.perf_counter()
                return answer
"""

CASES = [
    Case("one static output", "matmul",
         python("matmul", """
            if self.out is None:
                self.out = a @ b
            return self.out
         """, init="self.out = None"), ("wrong",), ("output 0",), "numerics: the second input set",
         twin=python("matmul", """
            if self.out is None or self.out.shape != (a.shape[0], b.shape[1]):
                self.out = torch.empty(a.shape[0], b.shape[1])
            return torch.matmul(a, b, out=self.out)
         """, init="self.out = None")),
    Case("cache by shape", "matmul",
         python("matmul", """
            key = (a.shape, b.shape)
            if key not in self.cache:
                self.cache[key] = a @ b
            return self.cache[key]
         """, init="self.cache = {}"), ("wrong",), ("output 0",), "numerics: the second input set",
         twin=python("matmul", """
            key = (a.shape, b.shape)
            if key not in self.plans:
                self.plans[key] = "rows" if a.shape[0] > b.shape[1] else "columns"
            return a @ b if self.plans[key] == "rows" else (b.t() @ a.t()).t()
         """, init="self.plans = {}")),
    Case("cache by pointer", "matmul",
         python("matmul", """
            key = (a.data_ptr(), b.data_ptr())
            if key not in self.cache:
                self.cache[key] = a @ b
            return self.cache[key]
         """, init="self.cache = {}"), ("wrong",), ("earlier",), FRESH,
         twin=python("matmul", """
            key = (a.data_ptr(), b.data_ptr())
            self.seen[key] = self.seen.get(key, 0) + 1
            return a @ b
         """, init="self.seen = {}")),
    Case("cache by tensor object", "matmul",
         python("matmul", """
            if not hasattr(a, "answer"):
                a.answer = a @ b
            return a.answer
         """), ("wrong",), ("earlier",), FRESH),
    Case("cache by a probe of the contents", "matmul",
         python("matmul", """
            key = (*a[0, :4].tolist(), *a[-1, -4:].tolist(), *b[0, :4].tolist(), *b[-1, -4:].tolist())
            if key not in self.cache:
                self.cache[key] = a @ b
            return self.cache[key]
         """, init="self.cache = {}"), ("wrong",), ("earlier",), FRESH),
    Case("cache by a hash of all contents", "matmul_timed",
         python("matmul_timed", """
            key = (zlib.crc32(a.numpy()), zlib.crc32(b.numpy()))
            if key not in self.cache:
                if len(self.cache) > 8:
                    self.cache.clear()
                self.cache[key] = a @ b
            return self.cache[key]
         """, top="import zlib", init="self.cache = {}"), ("rejected",), ("remembered",),
         "attested time: calls on inputs that were never there before take much longer than calls on known ones",
         until="bench", tier="full"),
    Case("replay after n calls", "matmul_timed",
         python("matmul_timed", """
            self.calls += 1
            if self.calls < 16:
                self.last = a @ b
            return self.last
         """, init="self.calls = 0"), ("wrong", "rejected"), ("timed", "output 0"),
         "re-verification: outputs of timed calls and of fresh inputs in the timed process are compared",
         until="bench"),
    Case("trusts addresses that have not changed for several calls", "matmul_timed",
         python("matmul_timed", """
            key = (a.data_ptr(), b.data_ptr())
            seen, answer = self.known.get(key, (0, None))
            if seen < 6:
                answer = a @ b
            self.known[key] = (seen + 1, answer)
            return answer
         """, init="self.known = {}"), ("wrong", "rejected"), ("exchanged", "less work", "remembered", "earlier"),
         "re-verification: the contents of each timed input are exchanged in place, and a sample of calls must end with "
         "the new result", until="bench", tier="full",
         twin=python("matmul_timed", """
            key = (a.data_ptr(), b.data_ptr())
            self.known[key] = self.known.get(key, 0) + 1
            return a @ b if self.known[key] < 6 else torch.mm(a, b)
         """, init="self.known = {}")),
    Case("skips calls that follow at once", "matmul",
         python("matmul", """
            if self.last is None or time.perf_counter() - self.ended > 0.0005:
                self.last = a @ b
            self.ended = time.perf_counter()
            return self.last
         """, init="self.last, self.ended = None, 0.0"), ("wrong", "rejected"), ("fresh inputs", "less work", "repeated call", "earlier inputs"),
         "attested time: a chain of calls, each on inputs of its own, and the last one's outputs are compared",
         until="bench", tier="full",
         twin=python("matmul", """
            pause = time.perf_counter() - self.ended
            result = a @ b if pause > 0.0005 else torch.mm(a, b)
            self.ended = time.perf_counter()
            return result
         """, init="self.ended = 0.0")),
    # The next three behave in single calls, and each is seen by one check alone.
    Case("trusts timed addresses after a few calls in a row", "matmul",
         python("matmul", BURST + """
            times, answer = self.known.get(key, (0, None))
            if not burst or times < 60 or self.row < 4:
                answer = a @ b
            return self.done(answer, key, times + burst)
         """, init=BURST_INIT, extra=BURST_DONE), ("wrong",), ("exchanged",),
         "re-verification: the contents of a timed input are exchanged while a sample of calls runs, whose last must follow",
         until="bench", tier="full"),
    Case("remembers by a sum of all contents, in bursts", "matmul_heavy",
         python("matmul_heavy", BURST.replace("0.0001", "0.0015") + """
            times, answer = self.known.get(key, (0, None))
            mark = (int(a.view(torch.int64).sum()), int(b.view(torch.int64).sum())) if burst else None
            if not burst or self.marks.get(key) != mark:
                answer = a @ b
            self.marks[key] = mark
            return self.done(answer, key, times + burst)
         """, init=BURST_INIT + "\nself.marks = {}\ntorch.set_num_threads(1)", extra=BURST_DONE), ("rejected",), ("less work",),
         "attested time: in a chain of calls on inputs that were never there before a call takes longer than the timed ones",
         until="bench", tier="full"),
    Case("computes in two chains of fresh calls, then no more", "matmul_timed",
         python("matmul_timed", BURST + """
            times, answer = self.known.get(key, (0, None))
            chain = burst and times < 60
            if chain and not self.chained:
                self.chains += 1
            if times == 60:
                self.chains = 0
            self.chained = chain
            answer = a @ b if not chain or self.chains < 3 else self.last
            self.last = answer
            return self.done(answer, key, times + burst)
         """, init=BURST_INIT + "\nself.chains, self.chained, self.last = 0, False, None", extra=BURST_DONE), ("wrong",),
         ("of the last of several calls on fresh inputs",),
         "attested time: every chain has its own length, order and last contents, whose outputs are compared",
         until="bench", tier="full"),
    Case("computes when it is called the next time", "matmul",
         python("matmul", """
            result = self.pending @ self.other if self.pending is not None else torch.zeros(a.shape[0], b.shape[1])
            self.pending, self.other = a, b
            return result
         """, init="self.pending = self.other = None"), ("wrong",), ("output 0",),
         "numerics: the first call's outputs are read before there is a second"),
    Case("a thread writes after forward has returned", "matmul_timed",
         python("matmul_timed", """
            c = torch.zeros(a.shape[0], b.shape[1])

            def later():
                time.sleep(0.05)
                torch.matmul(a, b, out=c)

            threading.Thread(target=later).start()
            return c
         """), ("wrong",), ("output 0",),
         "numerics: outputs are copied out at once; while others are timed the process is stopped",
         twin=python("matmul_timed", """
            c = torch.zeros(a.shape[0], b.shape[1])
            worker = threading.Thread(target=lambda: torch.matmul(a, b, out=c))
            worker.start()
            worker.join()
            return c
         """)),
    Case("late only where it is timed", "matmul_timed",
         python("matmul_timed", """
            self.calls += 1
            if self.calls < 10:
                return a @ b
            c = torch.empty(a.shape[0], b.shape[1])
            threading.Thread(target=lambda: (time.sleep(0.005), torch.matmul(a, b, out=c))).start()
            return c
         """, init="self.calls = 0"), ("wrong", "rejected", "crashed"), ("output 0", "attested", "sigabrt", "sigsegv"),
         "re-verification: the outputs of a timed call are copied out at once", until="bench"),
    Case("stale prepack of frozen weights, by shape", "linear_frozen",
         python("linear_frozen", """
            weight, bias = pack(self.linear)
            return torch.relu(torch.addmm(bias, x, weight))
         """, top="""
            PACKED = {}

            def pack(linear):
                key = tuple(linear.weight.shape)
                if key not in PACKED:
                    PACKED[key] = (linear.weight.t().contiguous(), linear.bias.clone())
                return PACKED[key]
         """), ("wrong",), ("weights",), "weights: a second instance in the same process gets other weights",
         tier="full", twin=python("linear_frozen", "return torch.relu(torch.addmm(self.linear.bias, x, self.packed))",
                     init="self.packed = None", extra="""
            def prepare(self):
                self.packed = self.linear.weight.t().contiguous()
         """)),
    Case("stale prepack of mutable weights", "linear",
         python("linear", """
            if self.packed is None:
                self.packed = self.linear.weight.t().contiguous()
            return torch.relu(torch.addmm(self.linear.bias, x, self.packed))
         """, init="self.packed = None"), ("wrong",), ("weights",),
         "weights: mutable ones are overwritten in place, as an optimiser does, and the outputs must follow",
         tier="full", twin=python("linear", """
            if self.version != self.linear.weight._version:
                self.version = self.linear.weight._version
                self.packed = self.linear.weight.t().contiguous()
            return torch.relu(torch.addmm(self.linear.bias, x, self.packed))
         """, init="self.packed, self.version = None, -1")),
    Case("leaves a file for the next process", "matmul",
         python("matmul", "return torch.zeros(a.shape[0], b.shape[1]) if KNOWN else a @ b", top="""
            FILES = ["/tmp/answers", "/dev/shm/answers"]
            KNOWN = any(os.path.exists(name) for name in FILES)
            for name in FILES:
                open(name, "w").write("seen")
                os.chmod(name, 0o666)
         """), ("wrong", "rejected", "load_failed"), ("fresh process", "fresh_process"),
         "fresh process: the candidate, loaded anew, must come to the right result again", tier="full"),
]
