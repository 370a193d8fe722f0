"""`finfo` and `iinfo`: the numeric limits of the element types."""

from __future__ import annotations

import math
from typing import Final

from .promotion import get_default_dtype
from .table import (
    bfloat16,
    bool_,
    dtype,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
    float8_e8m0fnu,
    float16,
    float32,
    float64,
    require_dtype,
)

_FLOAT_LAYOUT: Final = {
    # type: (stored mantissa bits, exponent bits)
    float16: (10, 5),
    bfloat16: (7, 8),
    float32: (23, 8),
    float64: (52, 11),
}

_FLOAT8_LIMITS: Final = {
    # type: (eps, max, min, tiny); each gives up codes of infinities and NaNs its own way
    float8_e4m3fn: (2.0**-3, 448.0, -448.0, 2.0**-6),
    float8_e4m3fnuz: (2.0**-3, 240.0, -240.0, 2.0**-7),
    float8_e5m2: (2.0**-2, 57344.0, -57344.0, 2.0**-14),
    float8_e5m2fnuz: (2.0**-3, 57344.0, -57344.0, 2.0**-15),
    float8_e8m0fnu: (1.0, 2.0**127, 2.0**-127, 2.0**-127),
}


class finfo:
    """Describe the limits of a floating-point type (the default one if none is given).

    A complex type is described by its parts.

    >>> finfo(float16).max
    65504.0
    """

    __module__ = "gradtape"

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "tiny")
    __hash__ = None  # type: ignore[assignment]  # as PyTorch's: compared by value

    def __init__(self, type: dtype | None = None) -> None:
        given = get_default_dtype() if type is None else type
        require_dtype(given, "finfo", "type", 1)
        real = given.to_real()
        self.bits = real.itemsize * 8
        self.dtype = real.name
        if real in _FLOAT8_LIMITS:
            self.eps, self.max, self.min, self.tiny = _FLOAT8_LIMITS[real]
            self.resolution = 1.0
            return
        if real not in _FLOAT_LAYOUT:
            raise TypeError(
                "torch.finfo() requires a floating point input type. "
                "Use torch.iinfo to handle 'torch.finfo'"
            )
        mantissa, exponent = _FLOAT_LAYOUT[real]
        bias = 2 ** (exponent - 1) - 1
        self.eps = 2.0**-mantissa
        self.max = (2.0 - self.eps) * 2.0**bias
        self.min = -self.max
        self.tiny = 2.0 ** (1 - bias)
        self.resolution = float(f"1e-{math.floor(mantissa * math.log10(2))}")

    @property
    def smallest_normal(self) -> float:
        """The smallest positive number with a full mantissa; the same as `tiny`."""
        return self.tiny

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, "
            f"max={self.max:g}, eps={self.eps:g}, smallest_normal={self.tiny:g}, "
            f"tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:
    """Describe the limits of an integer type.

    >>> from gradtape._dtypes import int8
    >>> iinfo(int8)
    iinfo(min=-128, max=127, dtype=int8)
    """

    __module__ = "gradtape"

    __slots__ = ("bits", "dtype", "max", "min")
    __hash__ = None  # type: ignore[assignment]  # as PyTorch's: compared by value

    def __init__(self, type: dtype) -> None:
        require_dtype(type, "iinfo", "type", 1)
        if type.is_floating_point or type.is_complex:
            raise TypeError(
                "torch.iinfo() requires an integer input type. "
                "Use torch.finfo to handle 'torch.iinfo'"
            )
        if type is bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        self.bits = type.itemsize * 8
        self.dtype = type.name
        self.max = 2 ** (self.bits - type.is_signed) - 1
        self.min = -self.max - 1 if type.is_signed else 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __repr__(self) -> str:
        # PyTorch prints these integers as C++ prints doubles: six digits.
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
