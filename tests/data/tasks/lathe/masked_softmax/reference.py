import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, mask):
        return torch.softmax(x.masked_fill(~mask, float("-inf")), -1)


def get_inputs():
    mask = torch.rand(6, 10) > 0.3
    mask[:, 0] = True
    return [torch.randn(6, 10), mask]


def get_init_inputs():
    return []
