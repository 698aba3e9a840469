import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.unique(sorted=False)[:4]


def get_inputs():
    return [torch.arange(8).repeat(2)[torch.randperm(16)] + torch.randint(0, 50, (1,))]


def get_init_inputs():
    return []
