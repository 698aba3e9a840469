# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

rows = 31
columns = 77


class Model(nn.Module):
    def forward(self, x):
        return x.cumsum(-1)


def get_inputs():
    return [torch.randn(rows, columns) * 1e-2]


def get_init_inputs():
    return []
