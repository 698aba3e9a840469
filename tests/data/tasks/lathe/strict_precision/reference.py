import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(16, 16))

    def forward(self, x):
        return x @ self.weight


def get_inputs():
    return [torch.randn(16, 16)]


def get_init_inputs():
    return []
