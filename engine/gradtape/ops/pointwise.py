"""Pointwise arithmetic: what NumPy has as ufuncs."""

from __future__ import annotations

from .._define import pointwise
from .._inplace import inplace

add = pointwise(
    "add",
    "add",
    {"self": lambda F, grad: grad, "other": lambda F, grad: grad},
    arity=2,
)
mul = pointwise(
    "mul",
    "multiply",
    {
        "self": lambda F, grad, other: grad * F.conj(other),
        "other": lambda F, grad, self: grad * F.conj(self),
    },
    arity=2,
)
exp = pointwise(
    "exp",
    "exp",
    {"self": lambda F, grad, result: grad * F.conj(result)},
    promotion="float",
)
inplace("add", "mul", "exp")
from .._tensor import Tensor
Tensor.__mul__ = mul
Tensor.__add__ = add
