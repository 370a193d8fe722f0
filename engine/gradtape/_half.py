"""Computing with 16-bit floats: in float32, rounded once, as PyTorch's kernels do.

NumPy has no bfloat16 of its own: with Python's numbers it becomes float32 or float64,
and it sorts NaNs anywhere. float16 it has, but rounds after every step of a formula.
Ops that only move elements stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ._op import Op

Invoke = Callable[[Any, Any, Any], Any]

_FAMILIES = frozenset(
    (
        *("activation", "activation_cut", "activation_pieces", "activation_smooth"),
        *("arithmetic", "compare", "division", "elementwise", "exponential"),
        *("extremes", "index_reduce", "loss", "loss_binary", "loss_classes", "mixing"),
        *("moments", "norms", "pointwise", "pool", "pool_average", "pool_fractional"),
        *("power", "products", "reduce", "reduce_extremes", "reduce_logic", "resize"),
        *("rounding", "scan", "scatter_reduce", "softmax", "sorting", "special"),
        *("special_bessel", "special_gamma", "special_normal", "special_polynomials"),
        *("statistics", "trigonometric", "unique"),
    )
)
_AS_THEY_ARE = frozenset(("div", "nan_to_num", "nextafter", "where"))
"""What rounds in between, knows the type's limits, reads bits, only moves elements."""


def computes_wide(record: Op) -> bool:
    """Tell whether an op takes 16-bit floats as float32.

    Not where the caller may name a dtype: such kernels see to it themselves.
    """
    return (
        record.family in _FAMILIES
        and record.name not in _AS_THEY_ARE
        and record.view is None
        and "dtype" not in record.options
    )


def in_float32(invoke: Invoke) -> Invoke:
    """Let a kernel see 16-bit floats as float32, and round what it returns."""

    def invoke_wide(xp: Any, tensors: Any, params: Any) -> Any:
        half = None
        for each in tensors:
            dtype = getattr(each, "dtype", None)
            if dtype is not None and dtype.itemsize == 2 and dtype.kind in "fV":
                half = dtype
                break
        if half is None or not _alone(half, tensors):
            return invoke(xp, tensors, params)
        wide = [
            each.astype("float32") if getattr(each, "dtype", None) == half else each
            for each in tensors
        ]
        return _narrow(invoke(xp, wide, params), half)

    return invoke_wide


def _alone(half: Any, tensors: Sequence[Any]) -> bool:
    """Tell whether all floats are of one type: mixtures are the kernel's own affair."""
    kinds = [getattr(each, "dtype", None) for each in tensors]
    return all(k is None or k.kind not in "fVc" or k == half for k in kinds)


def _narrow(found: Any, half: Any) -> Any:
    if isinstance(found, tuple | list):
        return type(found)(_narrow(each, half) for each in found)
    return found.astype(half) if getattr(found, "dtype", half).kind == "f" else found
