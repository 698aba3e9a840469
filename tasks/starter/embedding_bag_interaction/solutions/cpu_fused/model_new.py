# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
import lathe_native
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, tables: int, rows: int, width: int, pooling: int, dtype: str):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(tables * rows, width, dtype=getattr(torch, dtype)))

    def forward(self, dense: torch.Tensor, indices: torch.Tensor, offsets: torch.Tensor):
        tables = indices.shape[0]
        batch, width = dense.shape
        out = torch.empty(batch, width + tables * (tables + 1) // 2, dtype=dense.dtype)
        lathe_native.embedding_bag_interaction(self.weight, dense, indices, offsets, out)
        return out
