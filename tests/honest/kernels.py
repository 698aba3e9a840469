# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""Honest kernels of many kinds. A kernel is (name, task, candidate, slow); none of them may be refused.

slow: takes long to load (a compiler runs inside), so it only runs when asked for."""
from case import MATMUL_CALL, MATMUL_KERNEL, SHAPES, native, python

SHAPES.update({
    "softmax": ("", "", "x"),
    "row_sums": ("", "", "x"),
    "several": ("", "", "x"),
    "views": ("", "", "x"),
    "gelu_bf16": ("features, outputs", "self.linear = nn.Linear(features, outputs, dtype=torch.bfloat16)", "x"),
    "gelu_frozen": ("features, outputs", "self.linear = nn.Linear(features, outputs, dtype=torch.bfloat16)", "x"),
    "histogram": ("", "", "labels"),
    "moving_average": ("features", "self.register_buffer('average', torch.zeros(features))", "x"),
    "attention": ("", "", "q, k, v"),
    "layernorm": ("width", "self.norm = nn.LayerNorm(width)", "x"),
})

ROWS = """
static void sums(lathe::Tensor x, lathe::Tensor y)
{
    const int64_t n = x.size(1);
    for (int64_t r = 0; r < x.size(0); ++r) {
        const float* in = x.data<float>() + r * n;
        float sum = 0;
        BODY
        y.data<float>()[r] = sum;
    }
}
LATHE_EXPORT(sums, sums);
"""
ROWS_CALL = "y = torch.empty(x.shape[0])\nlathe_native.sums(x, y)\nreturn y"


def row_sums(name, body, top=""):
    return name, "row_sums", native("row_sums", ROWS_CALL, top + ROWS.replace("BODY", body)), False


def matmul(name, kernel, call=MATMUL_CALL, **more):
    return name, "matmul", native("matmul", call, kernel, **more), False


def plain(name, task, body, slow=False, **more):
    return name, task, python(task, body, **more), slow


GEMM = """
static void matmul(lathe::Tensor a, lathe::Tensor b, lathe::Tensor c)
{
    const float* left = a.data<float>();
    const float* right = b.data<float>();
    float* out = c.data<float>();
    const int64_t m = a.size(0), k = a.size(1), n = b.size(1);
    BODY
}
LATHE_EXPORT(matmul, matmul);
"""

KERNELS = [
    matmul("three loops", MATMUL_KERNEL),
    matmul("blocked, with tails", GEMM.replace("BODY", """
        for (int64_t i = 0; i < m * n; ++i) out[i] = 0;
        for (int64_t i0 = 0; i0 < m; i0 += 16)
            for (int64_t k0 = 0; k0 < k; k0 += 32)
                for (int64_t j0 = 0; j0 < n; j0 += 24)
                    for (int64_t i = i0; i < std::min(i0 + 16, m); ++i)
                        for (int64_t p = k0; p < std::min(k0 + 32, k); ++p)
                            for (int64_t j = j0; j < std::min(j0 + 24, n); ++j)
                                out[i * n + j] += left[i * k + p] * right[p * n + j];
    """).replace("static void", "#include <algorithm>\nstatic void", 1)),
    matmul("split over the inner dimension, with atomics", GEMM.replace("BODY", """
        for (int64_t i = 0; i < m * n; ++i) out[i] = 0;
        #pragma omp parallel for
        for (int64_t part = 0; part < 8; ++part)
            for (int64_t i = 0; i < m; ++i)
                for (int64_t j = 0; j < n; ++j) {
                    float sum = 0;
                    for (int64_t p = k * part / 8; p < k * (part + 1) / 8; ++p)
                        sum += left[i * k + p] * right[p * n + j];
                    #pragma omp atomic
                    out[i * n + j] += sum;
                }
    """)),
    matmul("fused multiply-add", GEMM.replace("BODY", """
        for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j) {
                float sum = 0;
                for (int64_t p = k; p-- > 0;)
                    sum = std::fma(left[i * k + p], right[p * n + j], sum);
                out[i * n + j] = sum;
            }
    """).replace("static void", "#include <cmath>\nstatic void", 1)),
    matmul("vector intrinsics", GEMM.replace("BODY", """
        for (int64_t i = 0; i < m; ++i) {
            int64_t j = 0;
        #if defined(__AVX2__) && defined(__FMA__)
            for (; j + 8 <= n; j += 8) {
                __m256 sum = _mm256_setzero_ps();
                for (int64_t p = 0; p < k; ++p)
                    sum = _mm256_fmadd_ps(_mm256_set1_ps(left[i * k + p]), _mm256_loadu_ps(right + p * n + j), sum);
                _mm256_storeu_ps(out + i * n + j, sum);
            }
        #endif
            for (; j < n; ++j) {
                float sum = 0;
                for (int64_t p = 0; p < k; ++p)
                    sum += left[i * k + p] * right[p * n + j];
                out[i * n + j] = sum;
            }
        }
    """).replace("static void", "#if defined(__AVX2__)\n#include <immintrin.h>\n#endif\nstatic void", 1)),
    matmul("threads of its own, joined", GEMM.replace("BODY", """
        std::vector<std::thread> threads;
        for (int64_t t = 0; t < 3; ++t)
            threads.emplace_back([=] {
                for (int64_t i = t; i < m; i += 3)
                    for (int64_t j = 0; j < n; ++j) {
                        float sum = 0;
                        for (int64_t p = 0; p < k; ++p)
                            sum += left[i * k + p] * right[p * n + j];
                        out[i * n + j] = sum;
                    }
            });
        for (auto& thread : threads) thread.join();
    """).replace("static void", "#include <thread>\n#include <vector>\nstatic void", 1)),
    matmul("a pool that sleeps between calls", GEMM.replace("BODY", """
        pool().run([&](int64_t t) {
            for (int64_t i = t; i < m; i += 2)
                for (int64_t j = 0; j < n; ++j) {
                    float sum = 0;
                    for (int64_t p = 0; p < k; ++p)
                        sum += left[i * k + p] * right[p * n + j];
                    out[i * n + j] = sum;
                }
        });
    """).replace("static void", """
        #include <condition_variable>
        #include <functional>
        #include <mutex>
        #include <thread>
        class Pool
        {
        public:
            Pool() { std::thread([this] { work(); }).detach(); }
            void run(const std::function<void(int64_t)>& part)
            {
                { std::lock_guard lock(m_mutex); m_part = &part; m_busy = true; }
                m_change.notify_all();
                part(0);
                std::unique_lock lock(m_mutex);
                m_change.wait(lock, [this] { return !m_busy; });
            }
        private:
            void work()
            {
                std::unique_lock lock(m_mutex);
                while (true) {
                    m_change.wait(lock, [this] { return m_busy; });
                    (*m_part)(1);
                    m_busy = false;
                    m_change.notify_all();
                }
            }
            std::mutex m_mutex;
            std::condition_variable m_change;
            const std::function<void(int64_t)>* m_part = nullptr;
            bool m_busy = false;
        };
        static Pool& pool() { static Pool* one = new Pool; return *one; }
        static void""", 1)),
    matmul("a workspace that is made at the first call and kept", GEMM.replace("BODY", """
        static std::vector<float> turned;
        turned.resize(static_cast<size_t>(n * k));
        for (int64_t p = 0; p < k; ++p)
            for (int64_t j = 0; j < n; ++j)
                turned[static_cast<size_t>(j * k + p)] = right[p * n + j];
        for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j) {
                float sum = 0;
                for (int64_t p = 0; p < k; ++p)
                    sum += left[i * k + p] * turned[static_cast<size_t>(j * k + p)];
                out[i * n + j] = sum;
            }
    """).replace("static void", "#include <vector>\nstatic void", 1)),
    matmul("an output buffer that is kept", MATMUL_KERNEL, call="""
        if self.out is None:
            self.out = torch.empty(a.shape[0], b.shape[1])
        lathe_native.matmul(a, b, self.out)
        return self.out
    """, init="self.out = None"),
    matmul("two sources and a header", "", call=MATMUL_CALL, files={
        "kernels/kernels.cpp": '#include <lathe/kernel.h>\n#include "dot.h"\n' + GEMM.replace("BODY", """
            for (int64_t i = 0; i < m; ++i)
                for (int64_t j = 0; j < n; ++j)
                    out[i * n + j] = dot(left + i * k, right + j, k, n);
        """),
        "kernels/dot.h": "#pragma once\n#include <cstdint>\nfloat dot(const float* a, const float* b, int64_t n, int64_t step);\n",
        "kernels/dot.cpp": '#include "dot.h"\nfloat dot(const float* a, const float* b, int64_t n, int64_t step)\n'
                           "{\n    float sum = 0;\n    for (int64_t i = 0; i < n; ++i)\n        sum += a[i] * b[i * step];\n"
                           "    return sum;\n}\n"}),
    plain("float64 inside", "matmul", "return (a.double() @ b.double()).float()"),
    plain("a strided output", "matmul", "return (b.t() @ a.t()).t()"),
    plain("a plan cached by shape", "matmul", """
        plan = self.plans.setdefault((a.shape, b.shape), {"calls": 0})
        plan["calls"] += 1
        return torch.mm(a, b)
    """, init="self.plans = {}"),
    plain("supports()", "matmul", "return torch.mm(a, b)", extra="""
        def supports(self, a, b):
            return a.dim() == 2 and a.shape[1] == b.shape[0]
    """),
    plain("an autograd function", "matmul", "return Product.apply(a, b)", top="""
        class Product(torch.autograd.Function):
            @staticmethod
            def forward(context, a, b):
                context.save_for_backward(a, b)
                return a @ b

            @staticmethod
            def backward(context, grad):
                a, b = context.saved_tensors
                return grad @ b.t(), a.t() @ grad
    """),
    plain("TorchScript", "matmul", "return self.script(a, b)", init="self.script = torch.jit.script(Product())", top="""
        class Product(nn.Module):
            def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
                return torch.mm(a, b)
    """),
    plain("a traced graph", "matmul", """
        if self.graph is None:
            self.graph = torch.jit.trace(lambda p, q: p @ q, (a, b), check_trace=False)
        return self.graph(a, b)
    """, init="self.graph = None"),
    plain("numpy inside", "matmul", "return torch.from_numpy(a.numpy() @ b.numpy())"),
    plain("torch.compile inside", "matmul", "return self.fast(a, b)",
          init="self.fast = torch.compile(lambda a, b: a @ b)", slow=True),
    plain("load_inline inside", "matmul", "return self.module.product(a, b)", slow=True, init="""
        from torch.utils.cpp_extension import load_inline
        self.module = load_inline("product", "torch::Tensor product(torch::Tensor a, torch::Tensor b) { return a.mm(b); }",
                                  functions=["product"])
    """),
    row_sums("compensated summation", """
        float lost = 0;
        for (int64_t i = 0; i < n; ++i) {
            const volatile float add = in[i] - lost, next = sum + add, back = next - sum;
            lost = back - add;
            sum = next;
        }
    """),
    row_sums("backwards", "for (int64_t i = n; i-- > 0;) sum += in[i];"),
    row_sums("pairwise", "sum = pairwise(in, n);", """
        static float pairwise(const float* x, int64_t n)
        {
            if (n <= 8) {
                float sum = 0;
                for (int64_t i = 0; i < n; ++i) sum += x[i];
                return sum;
            }
            return pairwise(x, n / 2) + pairwise(x + n / 2, n - n / 2);
        }
    """),
    row_sums("OpenMP reduction", "#pragma omp parallel for reduction(+ : sum)\nfor (int64_t i = 0; i < n; ++i) sum += in[i];"),
    row_sums("OpenMP atomics", "#pragma omp parallel for\nfor (int64_t i = 0; i < n; ++i) {\n#pragma omp atomic\nsum += in[i];\n}"),
    ("fast-math, linked so", "row_sums",
     native("row_sums", ROWS_CALL, ROWS.replace("BODY", "for (int64_t i = 0; i < n; ++i) sum += in[i];")), False),
    ("online softmax", "softmax", native("softmax", "y = torch.empty_like(x)\nlathe_native.softmax(x, y)\nreturn y", """
        #include <cmath>
        static void softmax(lathe::Tensor x, lathe::Tensor y)
        {
            const int64_t n = x.size(1);
            for (int64_t r = 0; r < x.size(0); ++r) {
                const float* in = x.data<float>() + r * n;
                float top = -INFINITY, sum = 0;
                for (int64_t i = 0; i < n; ++i) {
                    const float next = in[i] > top ? in[i] : top;
                    sum = sum * std::exp(top - next) + std::exp(in[i] - next);
                    top = next;
                }
                for (int64_t i = 0; i < n; ++i)
                    y.data<float>()[r * n + i] = std::exp(in[i] - top) / sum;
            }
        }
        LATHE_EXPORT(softmax, softmax);
     """), False),
    ("online attention", "attention", native("attention", """
        y = torch.empty_like(q)
        lathe_native.attention(q, k, v, y)
        return y
     """, """
        #include <cmath>
        #include <vector>
        static void attention(lathe::Tensor q, lathe::Tensor k, lathe::Tensor v, lathe::Tensor y)
        {
            const int64_t heads = q.size(0), m = q.size(1), n = k.size(1), d = q.size(2);
            const float scale = 1 / std::sqrt(static_cast<float>(d));
            #pragma omp parallel for collapse(2)
            for (int64_t h = 0; h < heads; ++h)
                for (int64_t i = 0; i < m; ++i) {
                    std::vector<float> acc(static_cast<size_t>(d), 0.0f);
                    float top = -INFINITY, sum = 0;
                    for (int64_t j = 0; j < n; ++j) {
                        float score = 0;
                        for (int64_t e = 0; e < d; ++e)
                            score += q.data<float>()[(h * m + i) * d + e] * k.data<float>()[(h * n + j) * d + e];
                        score *= scale;
                        const float next = score > top ? score : top, keep = std::exp(top - next);
                        const float weight = std::exp(score - next);
                        for (int64_t e = 0; e < d; ++e)
                            acc[static_cast<size_t>(e)] =
                                acc[static_cast<size_t>(e)] * keep + weight * v.data<float>()[(h * n + j) * d + e];
                        sum = sum * keep + weight;
                        top = next;
                    }
                    for (int64_t e = 0; e < d; ++e)
                        y.data<float>()[(h * m + i) * d + e] = acc[static_cast<size_t>(e)] / sum;
                }
        }
        LATHE_EXPORT(attention, attention);
     """), False),
    plain("the library's fused attention", "attention",
          "return nn.functional.scaled_dot_product_attention(q, k, v)"),
    ("running mean and variance in one pass", "layernorm", native("layernorm", """
        y = torch.empty_like(x)
        lathe_native.norm(x, self.norm.weight, self.norm.bias, y)
        return y
     """, """
        #include <cmath>
        static void norm(lathe::Tensor x, lathe::Tensor w, lathe::Tensor b, lathe::Tensor y)
        {
            const int64_t n = x.size(1);
            for (int64_t r = 0; r < x.size(0); ++r) {
                const float* in = x.data<float>() + r * n;
                float mean = 0, m2 = 0;
                for (int64_t i = 0; i < n; ++i) {
                    const float d = in[i] - mean;
                    mean += d / static_cast<float>(i + 1);
                    m2 += d * (in[i] - mean);
                }
                const float scale = 1 / std::sqrt(m2 / static_cast<float>(n) + 1e-5f);
                for (int64_t i = 0; i < n; ++i)
                    y.data<float>()[r * n + i] = (in[i] - mean) * scale * w.data<float>()[i] + b.data<float>()[i];
            }
        }
        LATHE_EXPORT(norm, norm);
     """), False),
    plain("packed in prepare()", "linear", "return torch.relu(torch.addmm(self.linear.bias, x, self.packed))", extra="""
        def prepare(self):
            self.packed = self.linear.weight.detach().t().contiguous()
    """),
    plain("packed lazily, keyed by version", "linear", """
        if self.version != self.linear.weight._version:
            self.version = self.linear.weight._version
            self.packed = self.linear.weight.detach().t().contiguous()
        return torch.relu(torch.addmm(self.linear.bias, x, self.packed))
    """, init="self.version = None"),
    plain("fused in load_reference_state()", "linear", "return torch.relu(torch.addmm(self.bias, x, self.weight))",
          extra="""
        def load_reference_state(self, state):
            self.weight = state["linear.weight"].t().contiguous()
            self.bias = state["linear.bias"].clone()
    """),
    plain("frozen weights, packed lazily", "linear_frozen", """
        if self.packed is None:
            self.packed = self.linear.weight.detach().t().contiguous()
        return torch.relu(torch.addmm(self.linear.bias, x, self.packed))
    """, init="self.packed = None"),
    plain("frozen weights, used as they come", "linear_frozen", "return torch.relu(self.linear(x))"),
    plain("bfloat16 with a float32 sum", "gelu_bf16", """
        y = x.float() @ self.linear.weight.float().t() + self.linear.bias.float()
        return nn.functional.gelu(y).bfloat16()
    """),
    plain("bfloat16, rounded between the steps", "gelu_frozen", "return nn.functional.gelu(self.linear(x))"),
    plain("several outputs of several kinds", "several", """
        best, where = x.max(-1)
        return {"best": best, "where": [where, torch.gt(x, 0)]}, torch.empty(0, x.shape[1])
    """),
    plain("a view where the reference returns one", "views", "return x.t(), x * x"),
    ("counting with atomics", "histogram", native("histogram", """
        counts = torch.zeros(57, dtype=torch.int64)
        lathe_native.count(labels, counts)
        return counts
     """, """
        static void count(lathe::Tensor labels, lathe::Tensor counts)
        {
            const int64_t* in = labels.data<int64_t>();
            int64_t* out = counts.data<int64_t>();
            #pragma omp parallel for
            for (int64_t i = 0; i < labels.size(0); ++i) {
                #pragma omp atomic
                out[in[i]] += 1;
            }
        }
        LATHE_EXPORT(count, count);
     """), False),
    plain("training-mode batch norm", "batchnorm", """
        n = self.norm
        n.num_batches_tracked += 1
        return nn.functional.batch_norm(x, n.running_mean, n.running_var, n.weight, n.bias, True, n.momentum, n.eps)
    """),
    plain("in place where it is declared", "accumulate", "acc += x\nreturn acc.sum(-1)"),
    plain("in place by a copy", "accumulate", "y = acc + x\nacc.copy_(y)\nreturn y.sum(-1)"),
    plain("state that outputs depend on", "moving_average", """
        self.average.lerp_(x.mean(0), 0.1)
        return x - self.average
    """),
    plain("a copy of its own where inputs must not change", "cleaned", "y = x.clone()\ny.mul_(1)\nreturn y"),
    plain("flush-to-zero, and back", "tiny_numbers", """
        torch.set_flush_denormal(True)
        try:
            return x.cumsum(-1)
        finally:
            torch.set_flush_denormal(False)
    """),
]
FLAGS = {"fast-math, linked so": ("-ffast-math",)}
