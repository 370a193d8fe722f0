"""How values of several processes become one: `ReduceOp`."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, ClassVar

import numpy as np

__all__ = ["RedOpType", "ReduceOp", "average", "check_reduction", "combine"]


class RedOpType(Enum):
    """The ways to reduce; programs write them ``ReduceOp.SUM``."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8


class _Kind(type):
    """Makes the members of RedOpType instances of ReduceOp, as they are in PyTorch."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, RedOpType)


class ReduceOp(metaclass=_Kind):
    """How `all_reduce` and its kin make one value of many.

    >>> ReduceOp.SUM
    <RedOpType.SUM: 0>
    """

    RedOpType = RedOpType
    SUM: ClassVar = RedOpType.SUM
    AVG: ClassVar = RedOpType.AVG
    PRODUCT: ClassVar = RedOpType.PRODUCT
    MIN: ClassVar = RedOpType.MIN
    MAX: ClassVar = RedOpType.MAX
    BAND: ClassVar = RedOpType.BAND
    BOR: ClassVar = RedOpType.BOR
    BXOR: ClassVar = RedOpType.BXOR
    PREMUL_SUM: ClassVar = RedOpType.PREMUL_SUM

    def __new__(cls, op: RedOpType) -> Any:
        return RedOpType(op)


class _OldNames:
    """``torch.distributed.reduce_op``, from before there was ReduceOp."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        warnings.warn(
            "`torch.distributed.reduce_op` is deprecated, "
            "please use `torch.distributed.ReduceOp` instead",
            FutureWarning,
            stacklevel=2,
        )
        return getattr(ReduceOp, name)


reduce_op = _OldNames()

_BITWISE = (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)
_FOR_COMPLEX = (ReduceOp.SUM, ReduceOp.AVG, ReduceOp.PREMUL_SUM)

_NUMBERS: dict[RedOpType, Callable[..., Any]] = {
    ReduceOp.SUM: operator.iadd,
    ReduceOp.PRODUCT: operator.imul,
    ReduceOp.MIN: np.minimum,
    ReduceOp.MAX: np.maximum,
    ReduceOp.BAND: operator.iand,
    ReduceOp.BOR: operator.ior,
    ReduceOp.BXOR: operator.ixor,
}
_TRUTHS: dict[RedOpType, Callable[..., Any]] = {
    ReduceOp.SUM: operator.ior,
    ReduceOp.PRODUCT: operator.iand,
    ReduceOp.MIN: operator.iand,
    ReduceOp.MAX: operator.ior,
    ReduceOp.BAND: operator.iand,
    ReduceOp.BOR: operator.ior,
    ReduceOp.BXOR: operator.ixor,
}


def check_reduction(name: str, op: RedOpType, dtype: Any) -> None:
    """Refuse what PyTorch refuses to reduce.

    Raises RuntimeError for complex numbers that are to be compared or multiplied (from
    all_reduce ValueError), for bits of floats and for averages of integers.
    """
    if dtype.is_complex and op not in _FOR_COMPLEX:
        refused = ValueError if name == "all_reduce" else RuntimeError
        raise refused(f"{name} does not support {op} on complex tensors")
    inexact = dtype.is_complex or dtype.is_floating_point
    if inexact and op in _BITWISE:
        raise RuntimeError(
            f"Cannot use ReduceOp.{op.name} with non-integral dtype",
        )
    if op is ReduceOp.AVG and not inexact:
        raise RuntimeError(
            "result type Float can't be cast to the desired output type "
            f"{dtype.cpp_name}"
        )
    if op is ReduceOp.PREMUL_SUM:
        raise RuntimeError("Cannot use ReduceOp.PREMUL_SUM: only NCCL knows it")


def combine(op: RedOpType, parts: Sequence[Any]) -> Any:
    """Return the reduction of NumPy arrays, in their order; they stay as they are."""
    result = parts[0].copy()
    function = (_TRUTHS if result.dtype == np.bool_ else _NUMBERS)[op]
    with np.errstate(all="ignore"):
        for part in parts[1:]:
            result = function(result, part)
    return result


def average(array: Any, count: int) -> Any:
    """Return the sum of ``count`` values made their average, in the array's dtype."""
    with np.errstate(all="ignore"):
        return (array / array.dtype.type(count)).astype(array.dtype, copy=False)
