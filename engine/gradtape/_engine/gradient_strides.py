"""How gradients of pointwise ops lie in memory, where NumPy and PyTorch differ.

Formulas on raw arrays follow NumPy, where rows win if operands disagree. It shows only
to those who look at a gradient on its way, so only their passes look here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._backend import backend_of
from .._storage.result_strides import laid_out

_SAVED_FIRST = {"erf", "erfc", "erfinv", "leaky_relu", "relu", "sinc", "threshold"}
"""Ops whose formulas in PyTorch begin with what was saved, not with the gradient."""


def gradients_laid_out(node: Any, grad: Any, outgoing: Sequence[Any]) -> Sequence[Any]:
    """Return what a node hands on, each in the memory order that PyTorch gives it.

    That is mostly the order of the gradient that came in, and where that one is
    repeated of what else the formula reads.
    """
    if getattr(grad, "ndim", 0) < 2:
        return outgoing
    op = node.op
    saved_first = op.name in _SAVED_FIRST
    if not saved_first and all(_lies_like(out, grad) for out in outgoing):
        return outgoing
    xp, found = backend_of(grad).xp, list(outgoing)
    kept = [getattr(each, "array", None) for each in node.saved]  # or a number
    for formula in op.formulas:
        saved = [kept[at] for at in formula.picks if at < len(kept)]
        reads = (*saved, grad) if saved_first else (grad, *saved)
        for edge in formula.edges:
            out = found[edge]
            if out is not None and out is not grad:
                found[edge] = laid_out(xp, out, reads)
    return found


def _lies_like(out: Any, grad: Any) -> bool:
    return out is None or out is grad or out.strides == grad.strides
