# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""The first half of a feed-forward block: a matrix product with bias, then GELU in its tanh form."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 2048
inner = 1024
outer = 4096
dtype = "bfloat16"


class Model(nn.Module):
    def __init__(self, inner: int, outer: int, dtype: str):
        super().__init__()
        kind = getattr(torch, dtype)
        # Divided by the root of the fan-in, so that the product is about as large as x whatever the width.
        self.weight = nn.Parameter((torch.randn(outer, inner) / inner**0.5).to(kind))
        # About as large as the product: a candidate which forgets the bias is wrong everywhere.
        self.bias = nn.Parameter((0.5 * torch.randn(outer)).to(kind))

    def forward(self, x: torch.Tensor):
        return F.gelu(F.linear(x, self.weight, self.bias), approximate="tanh")


def get_inputs():
    return [torch.randn(rows, inner).to(getattr(torch, dtype))]


def get_init_inputs():
    return [inner, outer, dtype]
