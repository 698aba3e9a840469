import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return x * y.conj()


def get_inputs():
    return [torch.randn(8, 20, dtype=torch.complex64), torch.randn(8, 20, dtype=torch.complex64)]


def get_init_inputs():
    return []
