import torch
import torch.nn as nn

classes = 7


class Model(nn.Module):
    def forward(self, logits, labels):
        return nn.functional.cross_entropy(logits, labels, reduction="none")


def get_inputs():
    return [torch.randn(20, classes), torch.randint(0, classes, (20,))]


def get_init_inputs():
    return []
