import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 16)

    def forward(self, x):
        return self.linear(x)


def get_inputs():
    return [torch.randn(16, 16)]


def get_init_inputs():
    return []
