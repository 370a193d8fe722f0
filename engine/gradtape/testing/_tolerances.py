"""How far two values may be apart, by dtype."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._dtypes import (
    bfloat16,
    complex32,
    complex64,
    complex128,
    float16,
    float32,
    float64,
)
from .._dtypes import dtype as DType
from .._tensor.tensor import Tensor

PRECISIONS: dict[DType, tuple[float, float]] = {
    float16: (1e-3, 1e-5),
    bfloat16: (1.6e-2, 1e-5),
    float32: (1.3e-6, 1e-5),
    float64: (1e-7, 1e-7),
    complex32: (1e-3, 1e-5),
    complex64: (1.3e-6, 1e-5),
    complex128: (1e-7, 1e-7),
}
"""Relative and absolute tolerance of each dtype; other dtypes must be equal."""


def default_tolerances(
    *inputs: Tensor | DType,
    precisions: Mapping[DType, tuple[float, float]] | None = None,
) -> tuple[float, float]:
    """Return (rtol, atol) for values of these dtypes: those of the coarsest."""
    table = PRECISIONS if precisions is None else precisions
    found = [table.get(_dtype_of(each), (0.0, 0.0)) for each in inputs]
    return max(rtol for rtol, _ in found), max(atol for _, atol in found)


def _dtype_of(value: Any) -> DType:
    if isinstance(value, Tensor):
        return value.dtype
    if isinstance(value, DType):
        return value
    raise TypeError(
        f"Expected a torch.Tensor or a torch.dtype, but got {type(value)} instead."
    )
