# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""The last step of a language model in training: projection onto the vocabulary, then the mean cross entropy."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 512
hidden = 512
vocabulary = 16384
dtype = "bfloat16"


class Model(nn.Module):
    def __init__(self, hidden: int, vocabulary: int, dtype: str):
        super().__init__()
        # Twice the usual scale: logits with a standard deviation of 2, so that the softmax is not almost uniform.
        self.weight = nn.Parameter((2 * torch.randn(vocabulary, hidden) / hidden**0.5).to(getattr(torch, dtype)))

    def forward(self, x: torch.Tensor, labels: torch.Tensor):
        logits = F.linear(x, self.weight)
        # The softmax in at least float32; float64 inputs stay float64.
        wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
        return F.cross_entropy(wide, labels)


def get_inputs():
    x = torch.randn(rows, hidden).to(getattr(torch, dtype))
    return [x, torch.randint(0, vocabulary, (rows,))]


def get_init_inputs():
    return [hidden, vocabulary, dtype]
