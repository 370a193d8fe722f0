"""``make_tensor``: random tensors of any dtype, range and layout."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from .._backend.device import device as Device
from .._common.site import user_stacklevel
from .._dtypes import bool_, finfo, iinfo, int64
from .._dtypes import dtype as DType
from .._tensor.tensor import Tensor
from ..ops.creation.factories import empty
from ..ops.creation.random import randint
from ..ops.views.reinterpret import view_as_real

Bounds = tuple[float, float]

_EQUAL_BOUNDS = (
    "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types "
    "is deprecated since 2.1 and will be removed in 2.3. Use `torch.full(...)` instead."
)


def make_tensor(
    *shape: Any,
    dtype: DType,
    device: str | Device,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Return a tensor of numbers drawn evenly from [low, high).

    By default from -9 to 9 (10 for integers, 0 to 2 for bools), in any case within
    what the dtype holds. ``noncontiguous`` leaves gaps in memory, ``exclude_zero``
    puts the smallest positive number (1 for integers) for zeros. Raises ValueError for
    bounds that leave nothing to draw from.

    >>> import gradtape as torch
    >>> from gradtape.testing import make_tensor
    >>> make_tensor((2, 3), dtype=torch.float32, device="cpu", low=0, high=1).shape
    torch.Size([2, 3])
    """
    inexact = dtype.is_floating_point or dtype.is_complex
    size = _size_of(shape)
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive,"
            f" but got noncontiguous={noncontiguous!r} and "
            f"memory_format={memory_format!r}"
        )
    if requires_grad and not inexact:
        raise ValueError(
            "`requires_grad=True` is not supported for boolean and integral dtypes, "
            f"but got dtype={dtype!r}"
        )
    gaps = noncontiguous and math.prod(size) > 1
    if gaps:
        size = (*size[:-1], 2 * size[-1])
    draw = _floats if inexact else _integers
    found = draw(size, dtype, device, low, high)
    if gaps:
        found = found[..., 1::2]
    elif memory_format is not None:
        found = found.clone(memory_format=memory_format)
    if exclude_zero:
        found[found == 0] = finfo(dtype).tiny if inexact else 1
    if inexact:
        found.requires_grad = requires_grad
    return found


def _size_of(shape: tuple[Any, ...]) -> tuple[int, ...]:
    if len(shape) == 1 and isinstance(shape[0], Sequence):
        return tuple(shape[0])
    return shape


def _integers(
    size: tuple[int, ...],
    dtype: DType,
    device: Any,
    low: float | None,
    high: float | None,
) -> Tensor:
    if dtype is bool_:
        limits, default = (0, 2), (0, 2)
    else:
        last = iinfo(dtype).max
        limits = (iinfo(dtype).min, last if dtype is int64 else last + 1)
        default = (-9, 10)
    first, end = _bounds(low, high, limits, default, dtype)
    return randint(math.ceil(first), math.ceil(end), size, device=device, dtype=dtype)


def _floats(
    size: tuple[int, ...],
    dtype: DType,
    device: Any,
    low: float | None,
    high: float | None,
) -> Tensor:
    limits = (finfo(dtype).min, finfo(dtype).max)
    first, end = _bounds(low, high, limits, (-9, 9), dtype)
    found = empty(size, device=device, dtype=dtype)
    parts: Any = view_as_real(found) if dtype.is_complex else found
    if end - first >= finfo(parts.dtype).max:
        # The range itself must be a number: draw from half of it and stretch that.
        parts.uniform_(first / 2, end / 2).mul_(2)
    else:
        parts.uniform_(first, end)
    return found


def _bounds(
    low: float | None, high: float | None, limits: Bounds, default: Bounds, dtype: DType
) -> Bounds:
    """Return the range to draw from, cut to what the dtype holds."""
    first = default[0] if low is None else low
    end = default[1] if high is None else high
    if first != first or end != end:  # integers may be beyond what isnan() takes
        raise ValueError(
            f"`low` and `high` cannot be NaN, but got low={first!r} and high={end!r}"
        )
    if first == end and (dtype.is_floating_point or dtype.is_complex):
        warnings.warn(_EQUAL_BOUNDS, FutureWarning, stacklevel=user_stacklevel())
    elif first >= end:
        raise ValueError(f"`low` must be less than `high`, but got {first} >= {end}")
    elif end < limits[0] or first >= limits[1]:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{first}, {end}), but"
            f" {dtype} only supports [{limits[0]}, {limits[1]})"
        )
    least, most = limits
    return min(max(first, least), most), min(max(end, least), most)
