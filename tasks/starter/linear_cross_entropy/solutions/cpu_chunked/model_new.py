# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
import lathe_native
import torch
import torch.nn as nn
from torch.autograd.function import once_differentiable


class LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, labels):
        loss = torch.empty((), dtype=torch.float32)
        log_sums = torch.empty(x.shape[0], dtype=torch.float32)  # all that is kept of the logits
        ctx.save_for_backward(x, weight, labels, log_sums)
        ctx.gradients = None
        if x.dtype == torch.float32 and any(ctx.needs_input_grad):
            # Products are the dearest part in float32: the gradients are made while the logits are there.
            ctx.gradients = torch.empty_like(x), torch.empty_like(weight)
            lathe_native.loss_and_gradients(x, weight, labels, log_sums, loss, *ctx.gradients)
        else:
            lathe_native.loss(x, weight, labels, log_sums, loss)
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        x, weight, labels, log_sums = ctx.saved_tensors
        made, ctx.gradients = ctx.gradients, None
        if made is not None:
            lathe_native.scale(gradient, *made)
        else:
            made = torch.empty_like(x), torch.empty_like(weight)
            lathe_native.gradients(x, weight, labels, log_sums, gradient, *made)
        return *made, None


class ModelNew(nn.Module):
    def __init__(self, hidden: int, vocabulary: int, dtype: str):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocabulary, hidden, dtype=getattr(torch, dtype)))

    def forward(self, x: torch.Tensor, labels: torch.Tensor):
        return LinearCrossEntropy.apply(x.contiguous(), self.weight, labels.contiguous())
