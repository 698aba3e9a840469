# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch = 9
features = 40


class Model(nn.Module):
    """What it returns depends on the calls before: a buffer follows the mean of the inputs."""

    def __init__(self, features):
        super().__init__()
        self.register_buffer("average", torch.zeros(features))

    def forward(self, x):
        self.average.mul_(0.9).add_(x.mean(0), alpha=0.1)
        return x - self.average


def get_inputs():
    return [torch.randn(batch, features) + 3]


def get_init_inputs():
    return [features]
