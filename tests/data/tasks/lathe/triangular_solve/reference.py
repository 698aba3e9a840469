import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return torch.linalg.solve_triangular(a, b, upper=False)


def get_inputs():
    return [torch.randn(6, 6).tril(-1) * 0.2 + torch.eye(6) * 2, torch.randn(6, 3)]


def get_init_inputs():
    return []
