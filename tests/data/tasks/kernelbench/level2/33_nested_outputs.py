import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        top = x.topk(2, dim=-1).values
        return {"sum": x.sum(0), "parts": [x * 2, (top, None)], "rows": x.shape[0]}


def get_inputs():
    return [torch.randn(6, 9)]


def get_init_inputs():
    return []
