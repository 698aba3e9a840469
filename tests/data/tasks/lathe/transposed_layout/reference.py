import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return x @ y + x.stride(0)


def get_inputs():
    return [torch.randn(8, 12), torch.randn(12, 4)]


def get_init_inputs():
    return []
