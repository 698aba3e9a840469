# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""The right result by other than honest means, and modes that are left behind."""
from case import MATMUL_CALL, MATMUL_KERNEL, Case, native, python

CASES = [
    Case("kernel as a decoy", "matmul",
         native("matmul", """
            c = torch.empty(a.shape[0], b.shape[1])
            lathe_native.matmul(a, b, c)
            return a @ b
         """, MATMUL_KERNEL), ("correct",), ("",),
         "warned about (own_kernels: in one extra process the candidate's kernels are not run, and the outputs are right "
         "all the same); rejected where the task allows no library",
         tier="full", warns="own_kernels", twin=native("matmul", MATMUL_CALL, MATMUL_KERNEL)),
    Case("kernel that is never called", "matmul", native("matmul", "return a @ b", MATMUL_KERNEL), ("correct",), ("",),
         "warned about, as above", tier="full", warns="own_kernels"),
    Case("kernel as a decoy for numpy where no library is allowed", "no_libraries",
         native("no_libraries", """
            c = torch.empty(a.shape[0], b.shape[1])
            lathe_native.matmul(a, b, c)
            return torch.from_numpy(a.numpy() @ b.numpy())
         """, MATMUL_KERNEL), ("rejected",), ("without", "allows no library"), "own_kernels, as above", tier="full"),
    Case("falls back to the reference's file", "matmul",
         python("matmul", """
            import importlib.util
            spec = importlib.util.spec_from_file_location("reference", "/task/reference.py")
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module.Model()(a, b)
         """), ("crashed",), ("no such file",), "the reference's file is not in the candidate's sandbox"),
    Case("falls back when something fails", "matmul",
         native("matmul", """
            try:
                raise RuntimeError("no fast path")
            except RuntimeError:
                return torch.matmul(a, b)
         """, MATMUL_KERNEL), ("correct",), ("",), "warned about, as above", tier="full", warns="own_kernels"),
    Case("library call where none is allowed", "no_libraries", python("no_libraries", "return torch.matmul(a, b)"),
         ("rejected",), ("aten::mm", "aten::matmul"),
         "libraries: operators are recorded in one extra call; where a task allows none, any that computes rejects",
         tier="full", twin=native("no_libraries", MATMUL_CALL, MATMUL_KERNEL)),
    Case("library call through the back door", "no_libraries",
         python("no_libraries", "return torch.einsum('ij,jk->ik', a, b)"), ("rejected",), ("aten::",), "libraries, as above", tier="full"),
    Case("library called from native code", "no_libraries",
         native("no_libraries", """
            c = torch.empty(a.shape[0], b.shape[1])
            lathe_native.sgemm(a, b, c)
            return c
         """, """
            #include <dlfcn.h>
            static void sgemm(lathe::Tensor a, lathe::Tensor b, lathe::Tensor c)
            {
                using Gemm = void (*)(const char*, const char*, const int*, const int*, const int*, const float*,
                                      const float*, const int*, const float*, const int*, const float*, float*,
                                      const int*);
                auto gemm = reinterpret_cast<Gemm>(dlsym(RTLD_DEFAULT, "sgemm_"));
                const int m = static_cast<int>(a.size(0)), k = static_cast<int>(a.size(1)), n = static_cast<int>(b.size(1));
                const float one = 1, zero = 0;
                if (gemm)
                    gemm("N", "N", &n, &m, &k, &one, b.data<float>(), &n, a.data<float>(), &k, &zero, c.data<float>(), &n);
            }
            LATHE_EXPORT(sgemm, sgemm);
         """), ("correct", "wrong"), ("",),
         "a BLAS that a kernel finds by itself is no operator of torch, and nothing looks into native code", caught=False, tier="full"),
    Case("flush-to-zero that is left behind", "tiny_numbers",
         python("tiny_numbers", "torch.set_flush_denormal(True)\nreturn x.cumsum(-1)"),
         ("rejected",), ("flush",), "the processor's floating-point mode is compared before and after forward",
         twin=python("tiny_numbers", """
            torch.set_flush_denormal(True)
            y = x.cumsum(-1)
            torch.set_flush_denormal(False)
            return y
         """)),
    Case("rounding mode that is left behind", "tiny_numbers",
         native("tiny_numbers", "lathe_native.upward(1)\nreturn x.cumsum(-1)", """
            #include <cfenv>
            static void upward(int64_t) { std::fesetround(FE_UPWARD); }
            LATHE_EXPORT(upward, upward);
         """), ("rejected", "wrong"), ("rounding",), "as above",
         twin=native("tiny_numbers", """
            y = torch.empty_like(x)
            lathe_native.sums(x, y)
            return y
         """, """
            #include <cfenv>
            static void sums(lathe::Tensor x, lathe::Tensor y)
            {
                const int before = std::fegetround();
                std::fesetround(FE_UPWARD);
                const int64_t n = x.size(1);
                for (int64_t r = 0; r < x.size(0); ++r) {
                    float sum = 0;
                    for (int64_t i = 0; i < n; ++i)
                        y.data<float>()[r * n + i] = sum += x.data<float>()[r * n + i];
                }
                std::fesetround(before);
            }
            LATHE_EXPORT(sums, sums);
         """)),
    Case("default dtype that is left behind", "tiny_numbers",
         python("tiny_numbers", "return x.cumsum(-1)", top="torch.set_default_dtype(torch.float64)"),
         ("correct",), ("",), "harmless: the process is the candidate's own"),
]
