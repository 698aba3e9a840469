# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""Nearest key of every query by squared Euclidean distance: the distance and the key's index."""

import torch
import torch.nn as nn

queries = 1024
keys = 8192
width = 64
dtype = "float32"


class Model(nn.Module):
    def forward(self, query: torch.Tensor, key: torch.Tensor):
        # At least float32 throughout: a dot product rounded to bfloat16 is further off than neighbours are apart.
        wide = torch.promote_types(query.dtype, torch.float32)
        query = query.to(wide)
        key = key.to(wide)
        lengths = query.pow(2).sum(-1, keepdim=True) + key.pow(2).sum(-1)
        distances = lengths - 2 * (query @ key.t())
        nearest = distances.min(dim=1)
        return nearest.values, nearest.indices


def get_inputs():
    kind = getattr(torch, dtype)
    # Lengths differ by up to three times, so that the largest dot product is often another key's.
    key = torch.randn(keys, width) * (0.5 + torch.rand(keys, 1))
    # Every query is a key with some noise: the winner is ahead by far more than rounding.
    chosen = torch.randint(keys, (queries,))
    chosen[0], chosen[-1] = 0, keys - 1
    query = key[chosen] + 0.3 * torch.randn(queries, width)
    return [query.to(kind), key.to(kind)]


def get_init_inputs():
    return []
