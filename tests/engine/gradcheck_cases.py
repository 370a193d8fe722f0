"""Inputs and functions that the tests of gradcheck share."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import Any

import pytest

both_modes = pytest.mark.parametrize("fast_mode", [False, True])


def warm_up_forward_mode() -> None:
    """Let PyTorch's first forward pass, which compiles something, warn beforehand."""
    if find_spec("torch") is None:
        return  # nothing to compare with: those tests are skipped
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.func.jvp(torch.sin, (torch.ones(1),), (torch.ones(1),))


def values(t: Any, *shape: int, dtype: str = "float64") -> Any:
    """Return a leaf with the same numbers in both engines."""
    count = max(1, t.ones(shape).numel())
    found = t.arange(1, count + 1).to(getattr(t, dtype)).div(10).reshape(shape)
    if dtype.startswith("complex"):
        found = found * (1 - 0.5j)
    return found.requires_grad_()


def scaled(t: Any, factor: float) -> Any:
    """Return a function x*x whose derivative is off by a factor."""

    class Square(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * 2 * factor * x.conj()

    return Square.apply
