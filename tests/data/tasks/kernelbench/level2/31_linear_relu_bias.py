import torch
import torch.nn as nn

batch = 6
inputs = 24
outputs = 12


class Model(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)
        self.bias = nn.Parameter(torch.randn(outputs))

    def forward(self, x):
        return torch.relu(self.linear(x)) + self.bias


def get_inputs():
    return [torch.randn(batch, inputs)]


def get_init_inputs():
    return [inputs, outputs]
