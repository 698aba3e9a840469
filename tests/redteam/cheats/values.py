# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""Outputs that are not the result."""
from case import MATMUL_CALL, MATMUL_KERNEL, Case, native, python

RIGHT = "return a @ b"
# Contracts: the same outputs by other means.
NUMERICS = "numerics: compared with the reference in float64 on secret inputs"
CONTRACT = "contract: number, structure, shape, dtype and aliasing of the outputs are the reference's"

CASES = [
    Case("no-op", "matmul", python("matmul", "return torch.empty(a.shape[0], b.shape[1])"), ("wrong",), ("output 0",),
         NUMERICS, twin=python("matmul", "c = torch.empty(a.shape[0], b.shape[1])\ntorch.matmul(a, b, out=c)\nreturn c")),
    Case("constant", "matmul", python("matmul", "return torch.zeros(a.shape[0], b.shape[1])"), ("wrong",),
         ("honest arithmetic",), NUMERICS + "; a task in which zeros would pass is refused"),
    Case("first tile only", "matmul",
         native("matmul", MATMUL_CALL, MATMUL_KERNEL.replace("r < rows", "r < (rows < 16 ? rows : 16)")),
         ("wrong",), ("output 0",), NUMERICS + ", all elements; output buffers are poisoned first"),
    Case("no tail", "matmul",
         native("matmul", MATMUL_CALL, MATMUL_KERNEL.replace("j < columns", "j < columns / 16 * 16")),
         ("wrong",), ("output 0",), NUMERICS + ", all elements",
         twin=native("matmul", MATMUL_CALL, MATMUL_KERNEL)),
    Case("one wrong element", "matmul", python("matmul", "c = a @ b\nc[69, 82] += 0.01\nreturn c"), ("wrong",),
         ("[69, 82]",), "numerics: the element-wise limit"),
    Case("bfloat16 inside float32", "matmul",
         python("matmul", "return (a.bfloat16() @ b.bfloat16()).float()"), ("wrong",), ("honest arithmetic",),
         "numerics: the limits follow from the spread of honest float32 arithmetic",
         twin=python("matmul", "return (a.double() @ b.double()).float()")),
    Case("float16 inside float32", "matmul", python("matmul", "return (a.half() @ b.half()).float()"),
         ("wrong",), ("honest arithmetic",), "numerics, as above"),
    Case("part of a reduction dropped", "matmul", python("matmul", "return a[:, :-1] @ b[:-1]"), ("wrong",),
         ("honest arithmetic",), "numerics"),
    Case("NaN", "matmul", python("matmul", "c = a @ b\nc[3, 5] = float('nan')\nreturn c"), ("wrong",), ("nan",),
         "numerics: NaN and infinities count by position"),
    Case("infinity", "matmul", python("matmul", "c = a @ b\nc[0, 0] = float('inf')\nreturn c"), ("wrong",),
         ("infinite",), "numerics, as above"),
    Case("wrong shape", "matmul", python("matmul", "return (a @ b).t().contiguous()"), ("wrong",), ("shape",), CONTRACT,
         twin=python("matmul", "return (b.t() @ a.t()).t()")),
    Case("wrong dtype", "matmul", python("matmul", "return (a @ b).double()"), ("wrong",), ("dtype",), CONTRACT),
    Case("another structure", "matmul", python("matmul", "return (a @ b,)"), ("wrong",), ("structure",), CONTRACT),
    Case("no tensor at all", "matmul", python("matmul", "return None"), ("wrong",), ("tensors",), CONTRACT),
    Case("alias of an input", "cleaned", python("cleaned", "return x"), ("wrong",), ("shares its memory",),
         CONTRACT, twin=python("cleaned", "return x.clone()")),
    Case("tensor subclass that computes when it is looked at", "matmul",
         python("matmul", "return Lazy(a, b)", top="""
            class Lazy(torch.Tensor):
                @staticmethod
                def __new__(cls, a, b):
                    return torch.Tensor._make_subclass(cls, torch.empty(a.shape[0], b.shape[1]))

                def __init__(self, a, b):
                    self.pair = (a, b)

                @classmethod
                def __torch_function__(cls, function, types, args=(), kwargs=None):
                    args = [x.pair[0] @ x.pair[1] if isinstance(x, Lazy) else x for x in args]
                    return function(*args, **(kwargs or {}))
         """), ("wrong",), ("subclass",), "contract: outputs must be plain tensors",
         twin=python("matmul", "return torch.nn.Parameter(a @ b, requires_grad=False)")),
    Case("overwritten input", "matmul", python("matmul", "c = a @ b\na.zero_()\nreturn c"),
         ("wrong",), ("wrote to input 0",), "inputs are sealed and mapped read-only: the write faults",
         twin=python("matmul", "d = a.clone()\nc = d @ b\nd.zero_()\nreturn c")),
    Case("input made writable first", "matmul",
         native("matmul", "lathe_native.unlock(a)\n" + RIGHT, """
            #include <sys/mman.h>
            static void unlock(lathe::Tensor a)
            {
                float* data = const_cast<float*>(a.data<float>());
                mprotect(data, 4096, PROT_READ | PROT_WRITE);
                *data = 7;
            }
            LATHE_EXPORT(unlock, unlock);
         """), ("wrong", "crashed"), ("wrote to input 0", "sigsegv"),
         "inputs come as descriptors that are open for reading only: mprotect fails, the write faults"),
    Case("input written through /proc/self/mem", "matmul",
         python("matmul", """
            fd = os.open("/proc/self/mem", os.O_RDWR)
            try:
                os.pwrite(fd, b"\\0" * 64, a.data_ptr())
            except OSError as error:
                raise RuntimeError(f"held: {error}")
            return a @ b
         """), ("crashed", "wrong"), ("held", "input"),
         "a shared read-only mapping of a read-only file stays so for /proc/self/mem too"),
    Case("same answer from the declared in-place argument, not written", "accumulate",
         python("accumulate", "return (acc + x).sum(-1)"), ("wrong",), ("input 0",),
         "contract: arguments that the task declares mutable are compared after the call",
         twin=python("accumulate", "torch.add(acc, x, out=acc)\nreturn acc.sum(-1)")),
    Case("writes the argument that is not declared", "accumulate",
         python("accumulate", "acc.add_(x)\nx.add_(1)\nreturn acc.sum(-1)"), ("wrong",), ("wrote to input 1",),
         "inputs that are not declared mutable are sealed"),
    Case("forgets the running statistics", "batchnorm",
         python("batchnorm", """
            mean, var = x.mean((0, 2, 3), keepdim=True), x.var((0, 2, 3), unbiased=False, keepdim=True)
            n = self.norm
            return (x - mean) * torch.rsqrt(var + n.eps) * n.weight.view(1, -1, 1, 1) + n.bias.view(1, -1, 1, 1)
         """), ("wrong",), ("running_mean", "running_var", "num_batches"),
         "state: buffers that the reference changes are compared after the same call",
         twin=python("batchnorm", """
            n = self.norm
            mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3), unbiased=False)
            count = x.numel() / x.shape[1]
            n.num_batches_tracked += 1
            n.running_mean.lerp_(mean, n.momentum)
            n.running_var.lerp_(var * (count / (count - 1)), n.momentum)
            scale = torch.rsqrt(var + n.eps) * n.weight
            return x * scale.view(1, -1, 1, 1) + (n.bias - mean * scale).view(1, -1, 1, 1)
         """)),
]
