# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""A linear layer with 4-bit weights, two to a byte, scaled in groups along the input; few rows, as in decoding."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 1
in_features = 4096
out_features = 4096
group = 128
dtype = "bfloat16"


class Model(nn.Module):
    def __init__(self, in_features: int, out_features: int, group: int, dtype: str):
        super().__init__()
        groups = in_features // group
        assert groups * group == in_features, "in_features must be whole groups"

        def frozen(value):
            return nn.Parameter(value, requires_grad=False)

        # Weight 2 i of a row is the low half of byte i, weight 2 i + 1 the high half.
        self.packed = frozen(torch.randint(0, 256, (out_features, in_features // 2), dtype=torch.uint8))
        # Of different sizes on both sides of the middle: neither can be left out or taken for a constant.
        self.zeros = frozen(torch.randint(4, 12, (out_features, groups), dtype=torch.uint8))
        # A uniform 4-bit number has a standard deviation of 4.6; the outputs come out near 1.
        scales = (0.5 + torch.rand(out_features, groups)) / (4.6 * in_features**0.5)
        self.scales = frozen(scales.to(getattr(torch, dtype)))

    def forward(self, x: torch.Tensor):
        codes = torch.stack((self.packed & 15, self.packed >> 4), dim=-1)
        codes = codes.view(*self.scales.shape, -1).to(self.scales.dtype)
        weight = (codes - self.zeros.unsqueeze(-1)) * self.scales.unsqueeze(-1)
        return F.linear(x, weight.view(weight.shape[0], -1))


def get_inputs():
    return [torch.randn(rows, in_features, dtype=getattr(torch, dtype))]


def get_init_inputs():
    return [in_features, out_features, group, dtype]
