import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, mask):
        return x * mask * 2


def get_inputs():
    return [torch.randn(10, 10), (torch.rand(10, 10) > 0.5).float()]


def get_init_inputs():
    return []
