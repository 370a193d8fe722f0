"""Tells in one call of PyTorch whether tensors are like others were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def tensor_guard(torch: Any, *tensors: Any) -> Callable[..., bool]:
    """Return what tells whether as many tensors are like these.

    It compares class, layout, shape, strides, dtype, device and need of a gradient;
    it finds none alike under autocast, transforms, dispatch or inference mode unless
    that was on for these.

    >>> import torch
    >>> check = tensor_guard(torch, torch.zeros(2, 3))
    >>> check(torch.ones(2, 3)), check(torch.ones(3, 2)), check(torch.ones(3, 2).T)
    (True, False, False)
    """
    guards = torch._C._dynamo.guards.TensorGuards  # as of compiled programs
    return guards(
        *tensors,
        dynamic_dims_sizes=[list(each.shape) for each in tensors],
        dynamic_dims_strides=[list(each.stride()) for each in tensors],
    ).check
