"""Inputs and functions that the tests of gradcheck share."""

from __future__ import annotations

from typing import Any

import pytest

both_modes = pytest.mark.parametrize("fast_mode", [False, True])


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
