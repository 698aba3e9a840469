# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""Sum-pooled bags from several embedding tables, then dot products of all pairs, as in a ranking model."""

import torch
import torch.nn as nn
import torch.nn.functional as F

tables = 26
rows = 16384
width = 64
batch = 2048
pooling = 8
dtype = "float32"


class Model(nn.Module):
    def __init__(self, tables: int, rows: int, width: int, pooling: int, dtype: str):
        super().__init__()
        # All tables in one matrix. Pooled vectors get a length at which their dot products are about one.
        scale = width**-0.25 * pooling**-0.5
        self.weight = nn.Parameter(scale * torch.randn(tables * rows, width, dtype=getattr(torch, dtype)))
        vectors = tables + 1
        upper = torch.triu_indices(vectors, vectors, 1)
        self.register_buffer("first_row", torch.arange(tables).unsqueeze(1) * rows, persistent=False)
        self.register_buffer("upper", upper[0] * vectors + upper[1], persistent=False)

    def forward(self, dense: torch.Tensor, indices: torch.Tensor, offsets: torch.Tensor):
        """dense: batch, width; indices: tables, lookups; offsets: tables, batch + 1, of each table's own lookups."""
        tables, lookups = indices.shape
        first_lookup = torch.arange(tables, device=offsets.device).unsqueeze(1) * lookups
        pooled = F.embedding_bag(
            (indices + self.first_row).flatten(),
            self.weight,
            (offsets[:, :-1] + first_lookup).flatten(),
            mode="sum",
        )
        pooled = pooled.view(tables, dense.shape[0], dense.shape[1]).transpose(0, 1)
        vectors = torch.cat([dense.unsqueeze(1), pooled], dim=1)
        products = torch.bmm(vectors, vectors.transpose(1, 2))
        return torch.cat([dense, products.flatten(1).index_select(1, self.upper)], dim=1)


def get_inputs():
    lookups = batch * pooling
    dense = width**-0.25 * torch.randn(batch, width, dtype=getattr(torch, dtype))
    indices = torch.randint(rows, (tables, lookups))
    # Ragged: the bags' ends are drawn, empty bags included; only the sum of their sizes is given.
    offsets = torch.randint(lookups + 1, (tables, batch + 1)).sort(-1).values
    offsets[:, 0], offsets[:, -1] = 0, lookups
    return [dense, indices, offsets]


def get_init_inputs():
    return [tables, rows, width, pooling, dtype]
