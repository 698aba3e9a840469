import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.sigmoid() * "é".__len__()  # naïve


def get_inputs():
    return [torch.randn(7, 11)]


def get_init_inputs():
    return []
