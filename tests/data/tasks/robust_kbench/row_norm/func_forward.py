import torch
import torch.nn as nn


def forward_fn(x, eps):
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt()


class Model(nn.Module):
    def __init__(self, eps=1e-5):
        super().__init__()
        self.eps = eps

    def forward(self, x, fn=forward_fn):
        return fn(x, self.eps)


def get_inputs(rows=3, columns=9):
    return {"x": torch.randn(rows, columns)}
