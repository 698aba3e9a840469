# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

rows = 41
columns = 67


class Model(nn.Module):
    """Floating point, integer, boolean and empty outputs, in a dictionary and a tuple."""

    def forward(self, x):
        return {"best": x.amax(-1), "where": (x.argmax(-1), x > 0)}, x.new_zeros(0, x.shape[1])


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
