"""How element types combine, PyTorch's default among them, and their numeric limits."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from typing import Final, TypeAlias

from .table import (
    FLOAT8,
    bfloat16,
    bool_,
    complex128,
    dtype,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
    float8_e8m0fnu,
    float16,
    float32,
    float64,
    int8,
    int16,
    int64,
    require_dtype,
    uint16,
    uint32,
    uint64,
)

# ---- promotion ----

Number: TypeAlias = bool | int | float | complex

_NARROW_UNSIGNED = (
    "Promotion for uint16, uint32, uint64 types is not supported, "
    "attempted to promote {} and {}"
)
_FLOAT8 = "Promotion for Float8 Types is not supported, attempted to promote {} and {}"
_NOT_FLOATING_DEFAULT = "only floating-point types are supported as the default type"
_LIMITED_UNSIGNED: Final = frozenset((uint16, uint32, uint64))


@cache
def promote_types(type1: dtype, type2: dtype) -> dtype:
    """Return the smallest type that both types fit in, by PyTorch's table.

    Raises RuntimeError for uint16, uint32 and uint64 beside another integer.

    >>> from gradtape._dtypes import float16, int64
    >>> promote_types(int64, float16)
    torch.float16
    """
    require_dtype(type1, "promote_types", "type1", 1)
    require_dtype(type2, "promote_types", "type2", 2)
    if type1 is type2:
        return type1
    if type1 in FLOAT8 or type2 in FLOAT8:
        raise RuntimeError(_FLOAT8.format(type1.cpp_name, type2.cpp_name))
    if type1.is_floating_point or type2.is_floating_point:
        return _promote_inexact(type1, type2)
    if type1 in _LIMITED_UNSIGNED or type2 in _LIMITED_UNSIGNED:
        raise RuntimeError(_NARROW_UNSIGNED.format(type1.cpp_name, type2.cpp_name))
    if type1.is_complex or type2.is_complex:
        return _promote_inexact(type1, type2)
    return _promote_integers(type1, type2)


def _promote_inexact(a: dtype, b: dtype) -> dtype:
    real = _promote_floats(a.to_real(), b.to_real())
    return real.to_complex() if a.is_complex or b.is_complex else real


def _promote_floats(a: dtype, b: dtype) -> dtype:
    if not a.is_floating_point:
        return b
    if not b.is_floating_point or a is b:
        return a
    if a.itemsize == b.itemsize == 2:
        return float32  # neither half holds the other
    return a if a.itemsize > b.itemsize else b


def _promote_integers(a: dtype, b: dtype) -> dtype:
    if a is bool_:
        return b
    if b is bool_:
        return a
    if a.is_signed == b.is_signed:
        return a if a.itemsize > b.itemsize else b
    signed = a if a.is_signed else b
    return int16 if signed is int8 else signed


Operand: TypeAlias = tuple[dtype, int] | Number
"""A tensor as (type, number of dimensions), or a Python number."""


def result_type_of(operands: Iterable[Operand]) -> dtype:
    """Return the type an operation over these operands computes in.

    Tensors with dimensions decide first, then 0-d tensors, then Python numbers; a
    lower rank counts only where its kind (bool, integer, float, complex) is higher.

    >>> from gradtape._dtypes import float32, float64, int32
    >>> result_type_of([(int32, 1), 2.5])
    torch.float32
    >>> result_type_of([(float32, 1), (float64, 0)])
    torch.float32
    """
    dimensioned: dtype | None = None
    zero_dim: dtype | None = None
    number: dtype | None = None
    for operand in operands:
        if not isinstance(operand, tuple):
            number = _promote_present(number, dtype_of_number(operand))
        elif operand[1] > 0:
            dimensioned = _promote_present(dimensioned, operand[0])
        else:
            zero_dim = _promote_present(zero_dim, operand[0])
    found = _combine(dimensioned, _combine(zero_dim, number))
    if found is None:
        raise ValueError("result_type_of() needs at least one operand")
    return found


def _promote_present(a: dtype | None, b: dtype | None) -> dtype | None:
    if a is None:
        return b
    return a if b is None else promote_types(a, b)


def dtype_of_number(value: Number) -> dtype:
    """Return the type of a Python number among tensors of a lower kind."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    if isinstance(value, float):
        return get_default_dtype()
    return get_default_dtype().to_complex()


def _combine(higher: dtype | None, lower: dtype | None) -> dtype | None:
    if higher is None or lower is None:
        return lower if higher is None else higher
    if higher.is_complex:
        return higher
    if higher.is_floating_point:
        return higher.to_complex() if lower.is_complex else higher
    if lower.is_floating_point or lower.is_complex:
        return lower
    return promote_types(higher, lower) if higher is bool_ else higher


def can_cast(from_: dtype, to: dtype) -> bool:
    """Tell whether a result of type `from_` may be stored in type `to`.

    >>> from gradtape._dtypes import float16, float32, float64, int64
    >>> can_cast(float64, float16), can_cast(float32, int64)
    (True, False)
    """
    require_dtype(from_, "can_cast", "from_", 1)
    require_dtype(to, "can_cast", "to", 2)
    if from_.is_complex and not to.is_complex:
        return False
    to_inexact = to.is_floating_point or to.is_complex
    if from_.is_floating_point and not to_inexact:
        return False
    return from_ is bool_ or to is not bool_


# ---- the default type ----

# PyTorch's default type belongs to the process, not to a thread or a task, so it is
# kept in a list of one rather than in a ContextVar.
_default: Final[list[dtype]] = [float32]


def get_default_dtype() -> dtype:
    """Return the type of new tensors made from Python floats."""
    return _default[0]


def set_default_dtype(d: object, /) -> None:
    """Set the type of new tensors made from Python floats.

    Raises TypeError where `d` is no floating-point type.
    """
    if not isinstance(d, dtype):
        raise TypeError(f"invalid dtype object: {_NOT_FLOATING_DEFAULT}")
    if not d.is_floating_point:
        raise TypeError(_NOT_FLOATING_DEFAULT)
    _default[0] = d


_PYTHON_TYPES: Final[dict[object, dtype]] = {
    bool: bool_,
    complex: complex128,
    float: float64,
    int: int64,
}


def parse_dtype(value: object, where: str = "tensor") -> dtype:
    """Turn a `dtype=` argument of the function `where` into a type.

    PyTorch also takes Python's own `bool`, `int`, `float` and `complex` here.

    >>> parse_dtype(float)
    torch.float64
    """
    if isinstance(value, dtype):
        return value
    found = _PYTHON_TYPES.get(value) if isinstance(value, type) else None
    if found is None:
        raise TypeError(
            f"{where}(): argument 'dtype' must be torch.dtype, "
            f"not {type(value).__name__}"
        )
    return found


# ---- limits ----

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
