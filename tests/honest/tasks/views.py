# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

rows = 23
columns = 31


class Model(nn.Module):
    """Returns its argument seen in another way, and something new."""

    def forward(self, x):
        return x.transpose(0, 1), x.square()


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
