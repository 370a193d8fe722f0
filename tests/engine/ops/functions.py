"""User-defined Functions for tests, made for either engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def make(
    t: Any,
    forward: Callable[..., Any],
    backward: Callable[..., Any] | None = None,
    **more: Any,
) -> Any:
    """Return a Function of engine ``t``, called ``Fn``."""
    members: dict[str, Any] = {"forward": staticmethod(forward), **more}
    if backward is not None:
        members["backward"] = staticmethod(backward)
    return type("Fn", (t.autograd.Function,), members)


def square(t: Any) -> Any:
    """Return x ↦ x², which saves its input."""

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grad * 2 * x

    return make(t, forward, backward)


def exponential(t: Any) -> Any:
    """Return x ↦ exp(x), which saves its output."""

    def forward(ctx: Any, x: Any) -> Any:
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    return make(t, forward, lambda ctx, grad: grad * ctx.saved_tensors[0])


def doubled_in_place(t: Any) -> Any:
    """Return a Function that doubles its input in place."""

    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(2)

    return make(t, forward, lambda ctx, grad: grad * 2)
