import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, p):
        return -(p * torch.log(p.clamp(min=1e-20))).sum(-1)


def get_inputs():
    return [torch.softmax(torch.randn(9, 16), -1)]


def get_init_inputs():
    return []
