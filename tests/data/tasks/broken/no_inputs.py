import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, *nothing):
        return torch.ones(3, 3)


def get_inputs():
    return []


def get_init_inputs():
    return []
