import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        x.relu_()
        return x * 2


def get_inputs():
    return [torch.randn(5, 4)]


def get_init_inputs():
    return []
