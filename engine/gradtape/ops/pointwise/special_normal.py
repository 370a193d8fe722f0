"""The normal distribution's functions, entropy and xlog1py."""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

from ..._dispatch.declare import FUNCTIONS, Array, Operand, op
from ..._tensor.tensor import Tensor
from .._support.operands import number
from .._support.out_argument import PLAIN, into
from .._support.special import facts, from_library

_ROOT_HALF = sqrt(0.5)


@op(
    {"self": lambda F, grad, self: -grad * (1 + F.log(self))},
    **facts("entr"),
)
def entr(xp: Any, self: Array) -> Any:
    """Return ``-x * log(x)``: 0 at 0, negative infinity below."""
    return from_library("entr")(xp, self)


@op(
    {
        "self": lambda F, grad, self, result: (
            grad * (2.0 * self * result - 2.0 / sqrt(pi))
        )
    },
    **facts("erfcx", half=False),
)
def erfcx(xp: Any, self: Array) -> Any:
    """Return ``exp(x * x) * erfc(x)``."""
    return from_library("erfcx")(xp, self)


@op(
    {
        "self": lambda F, grad, result: (
            grad * (sqrt(2 * pi) * F.exp(result * result * 0.5))
        )
    },
    **facts("ndtri", half=False),
)
def ndtri(xp: Any, self: Array) -> Any:
    """Return below which value a normal variable is with this probability."""
    return from_library("ndtri")(xp, self)


@op(
    {
        "self": lambda F, grad, self, result: (
            grad * (F.exp(-result - 0.5 * self * self) / sqrt(2 * pi))
        )
    },
    **facts("log_ndtr", half=False),
)
def log_ndtr(xp: Any, self: Array) -> Any:
    """Return the logarithm of ndtr(), exact far below 0."""
    return from_library("log_ndtr")(xp, self)


def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the probability that a normal variable is below each element.

    >>> import gradtape as torch
    >>> torch.special.ndtr(torch.tensor([0.0]))
    tensor([0.5000])
    """
    return into("special_ndtr", out, (input,), lambda: _ndtr(input), PLAIN)


def _ndtr(input: Tensor) -> Tensor:
    return (1 + FUNCTIONS["erf"](input * _ROOT_HALF)) * 0.5


# ---- xlog1py: three forms, as either side may be a number ----

_XLOG1PY = facts("xlog1py")


def _xlog1py_kernel(xp: Any, self: Operand, other: Operand) -> Any:
    return from_library("xlog1py")(xp, self, other)


def _xlog1py_self(F: Any, grad: Any, self: Any, other: Any) -> Any:
    silent = (self == 0) & (other <= -1)
    return F.where(silent, 0.0, F._xlog1py_tensors(grad, other))


def _xlog1py_self_number(F: Any, grad: Any, self: Any, other: Any) -> Any:
    silent = (self == 0) & (number(other) <= -1)
    return F.where(silent, 0.0, F._xlog1py_by_number(grad, other))


def _xlog1py_other(F: Any, grad: Any, self: Any, other: Any) -> Any:
    return grad * self / (other + 1)


_xlog1py_tensors = op(
    {"self": _xlog1py_self, "other": _xlog1py_other},
    key="_xlog1py_tensors",
    node="SpecialXlog1PyBackward0",
    **_XLOG1PY,
)(_xlog1py_kernel)
_xlog1py_of_number = op(
    {"other": _xlog1py_other},
    key="_xlog1py_of_number",
    node="SpecialXlog1PyBackward1",
    **_XLOG1PY,
)(_xlog1py_kernel)
_xlog1py_by_number = op(
    {"self": _xlog1py_self_number},
    key="_xlog1py_by_number",
    node="SpecialXlog1PyBackward2",
    **_XLOG1PY,
)(_xlog1py_kernel)


def xlog1py(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """Return ``input * log1p(other)``, which is 0 where ``input`` is 0."""
    if not isinstance(input, Tensor):
        return _xlog1py_of_number(input, other, out=out)
    form = _xlog1py_tensors if isinstance(other, Tensor) else _xlog1py_by_number
    return form(input, other, out=out)
