# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""What task.json says about an input: the domain that its values lie in, and its layout in memory."""
import random

import torch

from _lathe_values import ArmError, can_grad


def domain_bound(module, index, below):
    if below.isdigit():
        return int(below)
    value = getattr(module, below, None)
    if not isinstance(value, int) or value < 1:
        raise ArmError(f"input {index} is declared below {below}, which is {value!r} and no number above 0")
    return value


def is_mask(value):
    return value.dtype == torch.bool or value.unique().numel() <= 2


def check_domain(index, value, domain, bound):
    """get_inputs' own values must lie in the domain that the task declares."""
    def wrong(what):
        raise ArmError(f"input {index} is declared {domain}, but get_inputs() gives {what}")

    if value.numel() == 0:
        return
    if domain in ("positive", "probabilities", "sorted") and value.is_complex():
        wrong("complex numbers")
    if domain == "positive" and not bool((value > 0).all()):
        wrong(f"a value of {value.min().item():.6g}")
    if domain == "probabilities":
        if not value.is_floating_point() or value.dim() == 0:
            wrong("no floating-point tensor with an axis to add up along")
        sums = value.double().sum(-1)
        if bool((value < 0).any()) or bool(((sums - 1).abs() > 0.02).any()):
            wrong("values that are negative or do not add up to 1 along the last axis")
    if domain in ("labels", "indices"):
        if value.is_floating_point() or value.is_complex() or value.dtype == torch.bool:
            wrong("the dtype " + str(value.dtype).removeprefix("torch."))
        low, high = value.min().item(), value.max().item()
        if low < 0 or high >= bound:
            wrong(f"{low if low < 0 else high}, which is not in 0 ... {bound - 1}")
    if domain == "triangular" and (value.dim() < 2 or not (
            torch.equal(value, value.tril()) or torch.equal(value, value.triu()))):
        wrong("a tensor that is neither lower nor upper triangular")
    if domain == "mask" and not is_mask(value):
        wrong("more than two different values")
    if domain == "sorted" and (value.dim() < 1 or not bool((value.diff(dim=-1) >= 0).all())):
        wrong("values that fall along the last axis")


def drawn_any(value):
    """Of another scale and mean than the task's own draw, within what its dtype bears."""
    if value.dtype == torch.bool:
        return torch.rand(value.shape, device=value.device) < 0.25 + 0.5 * random.random()
    if not can_grad(value):
        low, high = int(value.min()), int(value.max())
        return torch.randint(low, high + 1, value.shape, dtype=torch.int64, device=value.device).to(value.dtype)
    wide = torch.complex128 if value.is_complex() else torch.float64
    own = value.to(wide).abs()
    spread = float((own * own).mean().sqrt()) or 1.0
    scale = spread * 2 ** random.uniform(-1, 1)
    noise = torch.randn(value.shape, dtype=wide, device=value.device)
    return (noise * scale + random.uniform(-0.5, 0.5) * scale).to(value.dtype)


def drawn(value, domain, bound):
    """Other values inside the domain, of the same shape and dtype."""
    if value.numel() == 0:
        return value
    if domain == "any":
        return drawn_any(value)
    if domain == "positive":
        if not value.is_floating_point():
            return drawn_any(value).clamp(min=1)
        scale = float(value.double().mean())
        noise = torch.randn(value.shape, dtype=torch.float64, device=value.device)
        return (noise.mul(0.5).exp() * scale).to(value.dtype).clamp(min=torch.finfo(value.dtype).tiny)
    if domain == "probabilities":
        noise = torch.randn(value.shape, dtype=torch.float64, device=value.device)
        return torch.softmax(noise * 2 ** random.uniform(-1, 1.5), -1).to(value.dtype)
    if domain in ("labels", "indices"):
        fresh = torch.randint(0, bound, value.shape, dtype=torch.int64, device=value.device)
        flat = fresh.view(-1)
        flat[0], flat[-1] = 0, bound - 1  # the ends are where mistakes show
        return fresh.to(value.dtype)
    if domain == "triangular":
        fresh = drawn_any(value)
        fresh = fresh.tril() if torch.equal(value, value.tril()) else fresh.triu()
        # The task's own diagonal: it decides whether such a matrix can be solved with.
        fresh.diagonal(dim1=-2, dim2=-1).copy_(value.diagonal(dim1=-2, dim2=-1))
        return fresh
    if domain == "mask":
        kinds = value.unique()
        keep = torch.rand(value.shape, device=value.device) < 0.2 + 0.7 * random.random()
        if value.dim() > 0:
            keep[..., :1] = True  # no row without a single entry
        return torch.where(keep, kinds[-1], kinds[0])
    fresh = drawn_any(value).sort(-1).values
    if not value.is_floating_point():  # offsets: where they begin and end belongs to the other inputs
        fresh = fresh.clamp(value[..., :1], value[..., -1:])
        fresh[..., :1], fresh[..., -1:] = value[..., :1], value[..., -1:]
    return fresh


def laid_out(index, value, layout):
    if layout == "contiguous":
        return value.contiguous()
    if layout == "transposed":
        if value.dim() < 2:
            raise ArmError(f"input {index} is declared transposed, but it has {value.dim()} axes")
        return value.transpose(-1, -2).contiguous().transpose(-1, -2)
    if layout == "channels_last":
        if value.dim() != 4:
            raise ArmError(f"input {index} is declared channels_last, but it has {value.dim()} axes, not 4")
        return value.contiguous(memory_format=torch.channels_last)
    if layout == "offset":
        room = torch.empty(value.numel() + 1, dtype=value.dtype, device=value.device)
        return room[1:].view(value.shape).copy_(value)
    return value
