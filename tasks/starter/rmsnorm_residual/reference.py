# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""Residual addition followed by RMS normalisation, as between two blocks of a decoder."""

import torch
import torch.nn as nn

rows = 2048
hidden = 5120
dtype = "bfloat16"
eps = 1e-5


class Model(nn.Module):
    def __init__(self, hidden: int, eps: float, dtype: str):
        super().__init__()
        self.eps = eps
        # Not all ones, so that a candidate which forgets the weight is wrong.
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(hidden, dtype=getattr(torch, dtype)))

    def forward(self, x: torch.Tensor, residual: torch.Tensor):
        h = x + residual
        # Reduced in at least float32; float64 inputs stay float64.
        wide = h.to(torch.promote_types(h.dtype, torch.float32))
        scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        y = (wide * scale).to(h.dtype) * self.weight
        return y, h


def get_inputs():
    kind = getattr(torch, dtype)
    return [torch.randn(rows, hidden, dtype=kind), torch.randn(rows, hidden, dtype=kind)]


def get_init_inputs():
    return [hidden, eps, dtype]
