# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
import lathe_native
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, inner: int, outer: int, dtype: str):
        super().__init__()
        kind = getattr(torch, dtype)
        self.weight = nn.Parameter(torch.empty(outer, inner, dtype=kind))
        self.bias = nn.Parameter(torch.empty(outer, dtype=kind))

    def prepare(self):
        """The weight in panels of columns, padded with zeros; 64 covers every padding the kernel uses."""
        outer, inner = self.weight.shape
        room = (outer + 64) * (inner + 64)
        self.packed = torch.empty(room, dtype=self.weight.dtype)
        lathe_native.pack_weight(self.weight, self.packed)

    def forward(self, x: torch.Tensor):
        x = x.contiguous()
        y = x.new_empty(x.shape[:-1] + self.bias.shape)
        lathe_native.gemm_bias_gelu(x, self.packed, self.bias, y)
        return y
