"""Other gradients to put in the place of one that arrived; see ``Stepper.replace``."""

from __future__ import annotations

import math
from typing import Any

from gradviz.stepping.stop import gradient_of


def zeroed(gradient: Any) -> Any:
    """Return zeros of the same shape.

    >>> import gradtape as torch
    >>> zeroed(torch.tensor([1.0, float("nan")]))
    tensor([0., 0.])
    """
    return gradient.detach().new_zeros(tuple(gradient.shape))


def scaled(gradient: Any, factor: float) -> Any:
    """Return the gradient times a finite number."""
    if not math.isfinite(factor):
        raise ValueError(f"a gradient cannot be scaled by {factor}")
    return gradient.detach() * factor


def clipped(gradient: Any, norm: float) -> Any:
    """Return the gradient, scaled so that its L2 norm is at most ``norm``.

    >>> import gradtape as torch
    >>> clipped(torch.tensor([3.0, 4.0]), 1.0)
    tensor([0.6000, 0.8000])
    """
    if not norm > 0 or not math.isfinite(norm):
        raise ValueError(f"a norm to clip to must be positive, not {norm}")
    measured = gradient_of(gradient)
    if measured is None or measured.norm <= norm:
        return gradient
    return scaled(gradient, norm / measured.norm)
