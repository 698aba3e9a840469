# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""Grouped-query attention of one decoding step over a padded key-value cache with sequences of different lengths."""

import torch
import torch.nn as nn

batch = 16
query_heads = 32
cache_heads = 8
positions = 2048
head_dim = 128
skew = 1.0
dtype = "bfloat16"


class Model(nn.Module):
    def forward(self, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, lengths: torch.Tensor):
        batch, heads, positions, width = keys.shape
        # Query heads that follow one another share a cache head.
        grouped = query.view(batch, heads, -1, width)
        scores = torch.matmul(grouped, keys.transpose(-1, -2)) * width**-0.5
        # Exponentials in at least float32; float64 inputs stay float64.
        wide = scores.to(torch.promote_types(scores.dtype, torch.float32))
        padding = torch.arange(positions, device=lengths.device) >= lengths.view(-1, 1, 1, 1)
        shares = torch.softmax(wide.masked_fill(padding, float("-inf")), dim=-1)
        return torch.matmul(shares.to(values.dtype), values).view_as(query)


def get_inputs():
    kind = getattr(torch, dtype)
    query = torch.randn(batch, query_heads, head_dim, dtype=kind)
    # What lies behind a sequence's end is as large as what lies before it: reading it is wrong.
    keys = torch.randn(batch, cache_heads, positions, head_dim, dtype=kind)
    values = torch.randn(batch, cache_heads, positions, head_dim, dtype=kind)
    # One length from each of `batch` equal parts of the distribution, so that their sum hardly varies. skew near 0:
    # almost full; 1: even between 1 and positions; larger: few long ones, many short ones.
    part = (torch.randperm(batch) + torch.rand(batch)) / batch
    lengths = (positions * part**skew).ceil().clamp(1, positions).to(torch.int64)
    return [query, keys, values, lengths]


def get_init_inputs():
    return []
