# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""Structures of tensors and plain values, as forward takes and returns them."""
import ast

import torch

KEYWORDS = "lathe.keywords"


class ArmError(Exception):
    """A failure that is already one sentence for a person."""


def literal_value(name, literal):
    try:
        return ast.literal_eval(literal)
    except (ValueError, SyntaxError):
        raise ArmError(f"the argument {name} is given as {literal!r}, which is not a Python literal") from None


def is_keywords(value):
    return isinstance(value, dict) and list(value) == [KEYWORDS]


def map_tensors(value, change):
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(map_tensors(item, change) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(map_tensors(item, change) for item in value)
    if isinstance(value, dict):
        return {key: map_tensors(item, change) for key, item in value.items()}
    return value


def tensors_of(value):
    found = []
    map_tensors(value, lambda tensor: found.append(tensor) or tensor)
    return found


def numbers_as_tensors(value, dtype):
    """A Python float in a result is compared as the value that it is."""
    if isinstance(value, float):
        return torch.tensor(value, dtype=dtype)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(numbers_as_tensors(item, dtype) for item in value)
    if isinstance(value, dict):
        return {key: numbers_as_tensors(item, dtype) for key, item in value.items()}
    return value


def can_grad(tensor):
    return tensor.is_floating_point() or tensor.is_complex()
