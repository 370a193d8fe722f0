"""Numbers as elements of a dtype hold them, or PyTorch's refusal."""

from __future__ import annotations

import math
from typing import Any

from ..._dtypes import (
    CPP_TYPE,
    bfloat16,
    bool_,
    complex64,
    float16,
    float32,
    iinfo,
    int32,
)
from ..._dtypes import dtype as DType

_LARGEST = {
    float16: 65504.0,
    bfloat16: 3.3895313892515355e38,
    float32: 3.4028234663852886e38,
    complex64: 3.4028234663852886e38,
}


def in_range(value: Any, kind: DType) -> Any:
    """Return a number in a form that an array of this dtype takes, without warning.

    Raises RuntimeError for one that is out of the dtype's range, as PyTorch does;
    negative integers wrap around in unsigned types.
    """
    if kind is bool_:
        return bool(value)
    if kind.is_complex:
        _check_parts(kind, value.real, value.imag)
        return value
    is_float = kind.is_floating_point
    name = CPP_TYPE[kind] if is_float or kind is int32 else f"{kind.name}_t"
    if isinstance(value, complex):
        if value.imag:
            raise _overflow(name)
        value = value.real
    if not is_float:
        return whole_in_range(value, kind, name)
    _check_parts(kind, value)
    return float(value)


def whole_in_range(value: Any, kind: DType, name: str) -> int:
    """Do it for a dtype of integers, which the refusal calls by this name."""
    limits = iinfo(kind)
    wraps = limits.min == 0 and hasattr(value, "__index__")
    low = -limits.max if wraps else limits.min
    if not math.isfinite(value) or not low <= value <= limits.max:
        raise _overflow(name)
    value = int(value)
    return value + limits.max + 1 if value < limits.min else value


def as_element(value: Any, kind: DType) -> Any:
    """Do the same for a number that becomes a 0-d tensor: sixteen bits overflow."""
    half = kind.is_floating_point and kind.itemsize == 2
    return value if half and not isinstance(value, complex) else in_range(value, kind)


def _check_parts(kind: DType, *parts: float) -> None:
    largest = _LARGEST.get(kind, math.inf)
    if any(largest < abs(part) < math.inf for part in parts):
        raise _overflow(CPP_TYPE[kind])


def _overflow(name: str) -> RuntimeError:
    return RuntimeError(f"value cannot be converted to type {name} without overflow")
