"""The gamma function, the normal distribution and their kin."""

from __future__ import annotations

from math import inf, log, nan, pi, sqrt
from typing import Any

from ..._dispatch.declare import FUNCTIONS, OPS, Array, Operand, method, op
from ..._dispatch.inplace import in_place, inplace
from ..._dtypes import bool_
from ..._tensor.tensor import Tensor
from .._support.arguments import as_integer
from .._support.new_tensor import row_major
from .._support.operands import POINTWISE, hidden_op, number
from .._support.out_argument import PLAIN, into
from .._support.special import facts, from_library, lacks, widened
from .special import derivative_order, log_gamma

_FLOAT: dict[str, Any] = {**POINTWISE, "promotion": "float"}

# ---- incomplete gamma functions ----


def _without_derivative(name: str) -> Any:
    def refuse(F: Any, grad: Any) -> Any:
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return refuse


def _at_nan(xp: Any, found: Any, self: Any, other: Any, low: int) -> Any:
    """Give what PyTorch answers to a NaN beside 0 or infinity; ``low`` at 0."""
    at_low = (xp.isnan(self) & (other == 0)) | ((self == xp.inf) & xp.isnan(other))
    at_high = xp.isnan(self) & (other == xp.inf)
    kind = found.dtype.type
    return xp.where(at_low, kind(low), xp.where(at_high, kind(1 - low), found))


def _density(F: Any, self: Any, other: Any) -> Any:
    """Return the slope of the lower incomplete gamma function."""
    return F.exp((self - 1) * F.log(other) - other - F.lgamma(self))


@op(
    {
        "self": _without_derivative("igamma: input"),
        "other": lambda F, grad, self, other: grad * _density(F, self, other),
    },
    check=lacks("igamma_cpu", integers=True),
    **_FLOAT,
)
def igamma(xp: Any, self: Array, other: Array) -> Any:
    """Return the regularized lower incomplete gamma function P(self, other)."""
    found = from_library("gammainc")(xp, self, other)
    return _at_nan(xp, found, self, other, 0)


@op(
    {
        "self": _without_derivative("igammac: input"),
        "other": lambda F, grad, self, other: -grad * _density(F, self, other),
    },
    check=lacks("igammac_cpu", integers=True),
    **_FLOAT,
)
def igammac(xp: Any, self: Array, other: Array) -> Any:
    """Return the regularized upper incomplete gamma function Q(self, other)."""
    found = from_library("gammaincc")(xp, self, other)
    return _at_nan(xp, found, self, other, 1)


# ---- multivariate ----


def _mvlgamma_backward(F: Any, grad: Any, self: Any, p: int) -> Any:
    slope = F.digamma(self)
    for i in range(1, p):
        slope = slope + F.digamma(self - i / 2)
    return grad * slope


@hidden_op(
    {"self": _mvlgamma_backward},
    name="mvlgamma",
    key="_mvlgamma",
    check=lacks("arange_cpu"),
    promotion="float",
    out=True,
)
def _mvlgamma(xp: Any, self: Array, p: int) -> Any:
    wide = row_major(xp, widened(self))
    found = xp.full(wide.shape, p * (p - 1) / 4 * log(pi), wide.dtype)
    for i in range(p):
        found = found + log_gamma(xp, wide - i / 2)
    return found.astype(self.dtype, copy=False)


def _dimension(input: Any, p: Any, function: str, position: int) -> int:
    dimension = as_integer(p, function, "p", position)
    if dimension < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if input.dtype is bool_:
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    return dimension


@method(function=True)
def mvlgamma(input: Tensor, p: int, *, out: Tensor | None = None) -> Tensor:
    """Return the logarithm of the multivariate gamma function of dimension ``p``.

    Raises RuntimeError for a dimension below 1.
    """
    return _mvlgamma(input, _dimension(input, p, "mvlgamma", 2), out=out)


@method()
def mvlgamma_(self: Tensor, p: int) -> Tensor:
    """In-place version of mvlgamma()."""
    return in_place(OPS["_mvlgamma"])(self, _dimension(self, p, "mvlgamma_", 1))


@method()
def polygamma_(self: Tensor, n: int) -> Tensor:
    """In-place version of polygamma()."""
    return in_place(OPS["_polygamma"])(self, derivative_order(n, "polygamma_"))


# ---- zeta: three forms, as either side may be a number ----

_ZETA = facts("zeta", half=False)
_REFUSED = _without_derivative("zeta")


def _zeta_kernel(xp: Any, self: Operand, other: Operand) -> Any:
    found = from_library("zeta")(xp, self, other)
    endless = (other == inf) & (self > 1)  # a sum of zeros, of which PyTorch says NaN
    return xp.where(endless, found.dtype.type(nan), found)


def _zeta_backward(F: Any, grad: Any, self: Any, other: Any) -> Any:
    return grad * -self * F._zeta_tensors(self + 1, other)


_zeta_tensors = op(
    {"self": _REFUSED, "other": _zeta_backward}, key="_zeta_tensors", **_ZETA
)(_zeta_kernel)
_zeta_of_number = op(
    {
        "other": lambda F, grad, self, other: (
            grad * -self * F._zeta_of_number(self + 1, other)
        )
    },
    key="_zeta_of_number",
    node="SpecialZetaBackward1",
    **_ZETA,
)(_zeta_kernel)
_zeta_by_number = op(
    {"self": _REFUSED}, key="_zeta_by_number", node="SpecialZetaBackward2", **_ZETA
)(_zeta_kernel)


def zeta(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """Return the Hurwitz zeta function; ``other`` has a derivative."""
    if not isinstance(input, Tensor):
        return _zeta_of_number(input, other, out=out)
    form = _zeta_tensors if isinstance(other, Tensor) else _zeta_by_number
    return form(input, other, out=out)


def polygamma(n: int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the n-th derivative of digamma()."""
    return FUNCTIONS["polygamma"](n, input, out=out)


inplace("igamma", "igammac")


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
