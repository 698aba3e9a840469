# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

rows = 33
features = 128
outputs = 48


class Model(nn.Module):
    def __init__(self, features, outputs):
        super().__init__()
        self.linear = nn.Linear(features, outputs, dtype=torch.bfloat16)

    def forward(self, x):
        return nn.functional.gelu(self.linear(x))


def get_inputs():
    return [torch.randn(rows, features).bfloat16()]


def get_init_inputs():
    return [features, outputs]
