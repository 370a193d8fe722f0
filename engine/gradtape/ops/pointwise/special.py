"""Error functions, the gamma family and xlogy, from SciPy."""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt
from typing import Any

import numpy as np

from ..._dispatch.declare import FUNCTIONS, Array, Operand, method, op, pointwise
from ..._dispatch.inplace import inplace
from ..._tensor.tensor import Tensor
from .._kernels import erf as normal
from .._kernels.bitwise_select import check_floating
from .._support.arguments import as_integer
from .._support.operands import (
    HIDDEN,
    POINTWISE,
    hidden_op,
    in_place_by_operand,
    leaves_out,
)

_TWO_OVER_ROOT_PI = 2.0 / sqrt(pi)


def _special(name: str) -> Callable[..., Any]:
    """Return a kernel that calls SciPy's, or CuPy's, special function."""

    def kernel(xp: Any, *arrays: Any) -> Any:
        found = getattr(_library(xp), name)(*arrays)
        return found.astype(arrays[-1].dtype, copy=False)

    return kernel


def _library(xp: Any) -> Any:
    if xp is np:
        from scipy import special
    else:
        from cupyx.scipy import special  # pyright: ignore[reportMissingImports]
    return special


_exact_erf = _special("erf")


def _erf(xp: Any, self: Any) -> Any:
    return normal.erf(xp, self) if normal.serves(self) else _exact_erf(xp, self)


erf = pointwise(
    "erf",
    _erf,
    {"self": lambda F, grad, self: grad * (_TWO_OVER_ROOT_PI * F.exp(-(self * self)))},
    promotion="float",
    check=leaves_out("c", "erf_vml_cpu"),
)
erfc = pointwise(
    "erfc",
    _special("erfc"),
    {"self": lambda F, grad, self: grad * (-_TWO_OVER_ROOT_PI * F.exp(-(self * self)))},
    promotion="float",
    check=leaves_out("c", "erfc_vml_cpu"),
)


def _erfinv_backward(F: Any, grad: Any, self: Any) -> Any:
    found = F.erfinv(self)
    return grad * (F.exp(found * found) / _TWO_OVER_ROOT_PI)


erfinv = pointwise(
    "erfinv",
    _special("erfinv"),
    {"self": _erfinv_backward},
    promotion="float",
    check=leaves_out("c", "erfinv_vml_cpu"),
)


def log_gamma(xp: Any, self: Array) -> Any:
    found = xp.asarray(_special("gammaln")(xp, self))
    xp.copyto(found, xp.inf, where=xp.isinf(self))
    return found


lgamma = pointwise(
    "lgamma",
    log_gamma,
    {"self": lambda F, grad, self: grad * F.digamma(self)},
    promotion="float",
    check=leaves_out("c", "lgamma_vml_cpu"),
)
digamma = pointwise(
    "digamma",
    _special("psi"),
    {"self": lambda F, grad, self: grad * F._polygamma(self, 1)},
    promotion="float",
    check=leaves_out("c", "digamma_vml_cpu"),
)


def _trigamma(xp: Any, self: Any) -> Any:
    """Compute polygamma(1) by PyTorch's series; SciPy's ends at negative numbers."""
    mirrored = self < 0.5
    x = xp.where(mirrored, 1 - self, self)
    found = xp.where(mirrored, -((self.dtype.type(pi) / xp.sin(pi * self)) ** 2), 0)
    for _ in range(6):
        found = found + 1 / (x * x)
        x = x + 1
    inner = 1 / (x * x)
    series = inner * (1 / 6 - inner * (1 / 30 - inner * (1 / 42)))
    found = found + (1 + 1 / (2 * x) + series) / x
    return xp.where(mirrored, -found, found)


@hidden_op(
    {"self": lambda F, grad, self, n: grad * F._polygamma(self, n + 1)},
    name="polygamma",
    key="_polygamma",
    **{**POINTWISE, "promotion": "float"},
)
def _polygamma(xp: Any, self: Array, n: int) -> Any:
    kernels = "digamma", "trigamma"
    check_floating(self, kernels[n] if n < 2 else "polygamma", "c")
    special = _library(xp)
    if n == 0:
        found = special.psi(self)
    elif n == 1:
        found = _trigamma(xp, self)
    else:
        found = (-1.0) ** (n + 1) * special.gamma(n + 1.0) * special.zeta(n + 1.0, self)
        found = xp.where(self == xp.inf, xp.nan, found)  # as PyTorch's series
    return found.astype(self.dtype, copy=False)


def derivative_order(n: Any, function: str) -> int:
    """Return how often polygamma differentiates, or refuse."""
    order = as_integer(n, function, "n", 1)
    if order < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return order


def polygamma(n: int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the n-th derivative of digamma()."""
    return _polygamma(input, derivative_order(n, "polygamma"), out=out)


# ---- xlogy: three forms, as either side may be a number ----


def _xlogy_self(F: Any, grad: Any, self: Any, other: Any) -> Any:
    silent = (self == 0) & (other <= 0)
    return F.where(silent, 0.0, F._xlogy_tensors(grad, other))


def _xlogy_kernel(xp: Any, self: Operand, other: Operand) -> Any:
    found = xp.where(self == 0, 0, self * xp.log(other))
    kind = getattr(other, "dtype", None) or self.dtype
    return xp.where(xp.isnan(other), xp.nan, found).astype(kind, copy=False)


_FACTS: dict[str, Any] = {**POINTWISE, **HIDDEN, "name": "xlogy", "promotion": "float"}
_FACTS["check"] = leaves_out("c", "xlogy_cpu")
_xlogy_tensors = op(
    {
        "self": _xlogy_self,
        "other": lambda F, grad, self, other: grad * self / other,
    },
    key="_xlogy_tensors",
    **_FACTS,
)(_xlogy_kernel)
_xlogy_of_number = op(
    {"other": lambda F, grad, self, other: grad * self / other},
    key="_xlogy_of_number",
    node="XlogyBackward1",
    **_FACTS,
)(_xlogy_kernel)
_xlogy_by_number = op(
    {
        "self": lambda F, grad, self, other: F.where(
            (self == 0) & (other <= 0), 0.0, F._xlogy_by_number(grad, other)
        )
    },
    key="_xlogy_by_number",
    node="XlogyBackward2",
    **_FACTS,
)(_xlogy_kernel)


@method(function=True)
def xlogy(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """Return ``input * log(other)``, which is 0 where ``input`` is 0."""
    if not isinstance(input, Tensor):
        return _xlogy_of_number(input, other, out=out)
    form = _xlogy_tensors if isinstance(other, Tensor) else _xlogy_by_number
    return form(input, other, out=out)


FUNCTIONS["polygamma"] = polygamma
method("polygamma")(lambda self, n: polygamma(n, self))
inplace("erf", "erfc", "erfinv", "lgamma", "digamma")
in_place_by_operand("xlogy", "_xlogy_by_number", "_xlogy_tensors")
