"""Uninitialised tensors for layers to fill."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._dtypes import dtype as DType
from .._dtypes import get_default_dtype
from .._tensor.tensor import Tensor
from ..ops._support.arguments import sizes
from ..ops._support.new_tensor import made, module_on
from .parameter import Parameter


def empty(
    shape: int | Sequence[int], device: Any = None, dtype: DType | None = None
) -> Tensor:
    """Return a tensor whose values are whatever was in memory."""
    kind = get_default_dtype() if dtype is None else dtype
    given: Any = (shape,) if hasattr(shape, "__index__") else shape
    return made(module_on(device).empty(sizes(given, "empty"), kind.numpy))


def parameter(
    shape: int | Sequence[int], device: Any = None, dtype: DType | None = None
) -> Parameter:
    """Return a parameter whose values are whatever was in memory."""
    return Parameter(empty(shape, device, dtype))
