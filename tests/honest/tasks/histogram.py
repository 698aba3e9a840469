# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

count = 20011
bins = 57


class Model(nn.Module):
    def forward(self, labels):
        return torch.bincount(labels, minlength=bins)


def get_inputs():
    return [torch.randint(0, bins, (count,))]


def get_init_inputs():
    return []
