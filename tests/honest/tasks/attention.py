# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

heads = 3
queries = 17
keys = 45
width = 32


class Model(nn.Module):
    def forward(self, q, k, v):
        return torch.softmax(q @ k.transpose(-1, -2) / width**0.5, -1) @ v


def get_inputs():
    return [torch.randn(heads, queries, width), torch.randn(heads, keys, width), torch.randn(heads, keys, width)]


def get_init_inputs():
    return []
