# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

rows = 33
columns = 65


class Model(nn.Module):
    """Changes its first argument: acc += x, and returns the row sums of the result."""

    def forward(self, acc, x):
        acc.add_(x)
        return acc.sum(-1)


def get_inputs():
    return [torch.randn(rows, columns), torch.randn(rows, columns)]


def get_init_inputs():
    return []
