"""Reading ``dim`` and ``keepdim``, which may come under NumPy's names."""

from __future__ import annotations

from typing import Any

from .._define import ABSENT as ABSENT


def dim_argument(dim: Any, axis: Any, keepdim: Any, keepdims: Any) -> tuple[Any, bool]:
    """Return (dim, keepdim) from PyTorch's or NumPy's names."""
    return (
        dim if axis is ABSENT else axis,
        bool(keepdim if keepdims is ABSENT else keepdims),
    )
