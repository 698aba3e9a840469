import torch
import torch.nn as nn


def forward_fn(x: torch.Tensor, weight: torch.Tensor, slope: float) -> torch.Tensor:
    return torch.where(x > 0, x, slope * x) * weight


class Model(nn.Module):
    def __init__(self, width: int = 4, slope: float = 0.1):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)
        self.slope = slope

    def forward(self, x, fn=forward_fn):
        return fn(x, self.weight, self.slope)


def get_inputs(batch: int = 2, width: int = 4):
    return [torch.randn(batch, width)]


input_names = ["x"]
