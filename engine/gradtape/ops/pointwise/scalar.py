"""Arithmetic with a number that is no tensor, as functions composed in C++ record it.

Python's ``x * 2`` turns the number into a tensor; PyTorch's own compositions do not,
and their nodes have one edge and names of their own: MulBackward1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._dispatch.declare import OPS, Array
from ..._dtypes import get_default_dtype
from ..._tensor.tensor import Tensor, wrap
from .._support.operands import hidden_op
from ..reduction.norms import norm_backward


def _operands(array: Any, number: float) -> tuple[Any, Any]:
    """Return both in the dtype PyTorch computes in; NumPy knows no bfloat16.

    Integers that meet a fraction become the default float type, not float64.
    """
    if array.dtype.kind in "iub" and isinstance(number, float):
        return array.astype(get_default_dtype().numpy), number
    return array, array.dtype.type(number) if array.dtype.kind == "V" else number


@hidden_op({"self": lambda F, grad: grad}, node="AddBackward1")
def add_number(xp: Any, self: Array, other: float) -> Any:
    """Add a number."""
    array, number = _operands(self, other)
    return array + number


@hidden_op({"self": lambda F, grad: grad}, node="SubBackward1")
def sub_number(xp: Any, self: Array, other: float) -> Any:
    """Subtract a number."""
    array, number = _operands(self, other)
    return array - number


@hidden_op({"self": lambda F, grad, other: grad * other}, node="MulBackward1")
def mul_number(xp: Any, self: Array, other: float) -> Any:
    """Multiply by a number."""
    array, number = _operands(self, other)
    return array * number


@hidden_op({"self": lambda F, grad, other: grad / other}, node="DivBackward1")
def div_number(xp: Any, self: Array, other: float) -> Any:
    """Divide by a number."""
    array, number = _operands(self, float(other) if self.dtype.kind in "iub" else other)
    return array / number


@hidden_op(
    {
        "self": lambda F, grad, self, result, p, dim, keepdim: norm_backward(
            F, grad, self, p, result, dim, keepdim
        )
    },
    key="norm_along",
    node="NormBackward1",
)
def norm(xp: Any, self: Array, p: float, dim: int, keepdim: bool) -> Any:
    """Return the p-norm along a dimension."""
    return OPS["linalg_vector_norm"].kernel(xp, self, p, dim, keepdim)


def as_tensor(number: float, like: Tensor) -> Tensor:
    """Return a 0-d tensor of another's type, for compositions that make one."""
    return wrap(np.asarray(number, like._data.dtype))
