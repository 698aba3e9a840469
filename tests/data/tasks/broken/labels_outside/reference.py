import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, labels):
        return nn.functional.one_hot(labels, 9).float()


def get_inputs():
    return [torch.randint(0, 9, (40,))]


def get_init_inputs():
    return []
