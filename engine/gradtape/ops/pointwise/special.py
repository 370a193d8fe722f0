"""Special functions of gradtape.special: zeta, Bessel, polynomials and others."""

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
from .._support.reduction import values_of
from .._support.special import facts, from_library, lacks, library_function, widened

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


# ---- modified, of the first kind: with derivatives ----

i0 = pointwise(
    "i0",
    from_library("i0"),
    {"self": lambda F, grad, self: grad * F.special_i1(self)},
    promotion="float",
    check=lacks("i0_vml_cpu"),
)


def _i0e_backward(F: Any, grad: Any, self: Any, result: Any) -> Any:
    return grad * (F.special_i1e(self) - F.sgn(self) * result)


def _away_from_zero(F: Any, self: Any) -> tuple[Any, Any]:
    """Return where a division by ``self`` is safe, and safe divisors."""
    eps = 2.0 ** (-52 if values_of(self).dtype.itemsize == 8 else -23)
    safe = F.abs(self) > eps
    return safe, F.where(safe, self, eps)


def _i1_backward(F: Any, grad: Any, self: Any, result: Any) -> Any:
    safe, x = _away_from_zero(F, self)
    return grad * F.where(safe, F.i0(x) - result / x, 0.5)


def _i1e_backward(F: Any, grad: Any, self: Any, result: Any) -> Any:
    safe, x = _away_from_zero(F, self)
    slope = F.special_i0e(x) - result * (F.sgn(x) + 1 / x)
    return grad * F.where(safe, slope, 0.5)


@op({"self": _i0e_backward}, node="SpecialI0EBackward0", **facts("i0e"))
def i0e(xp: Any, self: Array) -> Any:
    """Return the modified Bessel function of order 0, scaled by exp(-abs(x))."""
    return from_library("i0e")(xp, self)


@op({"self": _i1_backward}, **facts("i1"))
def i1(xp: Any, self: Array) -> Any:
    """Return the modified Bessel function of the first kind, of order 1."""
    return from_library("i1")(xp, self)


@op({"self": _i1e_backward}, node="SpecialI1EBackward0", **facts("i1e"))
def i1e(xp: Any, self: Array) -> Any:
    """Return the modified Bessel function of order 1, scaled by exp(-abs(x))."""
    return from_library("i1e")(xp, self)


# ---- without derivatives, as in PyTorch ----


def _underived(name: str, source: str, what: str) -> Any:
    def kernel(xp: Any, self: Array) -> Any:
        return from_library(source)(xp, self)

    def named(xp: Any, x: Array) -> Any:
        return from_library(source)(xp, x)

    # PyTorch names the argument of these differently.
    chosen: Any = named if name.startswith("scaled") else kernel

    chosen.__doc__ = f"Return the {what}; PyTorch has no derivative for it."
    return op({}, **facts(name, half=False))(chosen)


bessel_j0 = _underived("bessel_j0", "j0", "Bessel function of the first kind, order 0")
bessel_j1 = _underived("bessel_j1", "j1", "Bessel function of the first kind, order 1")
bessel_y0 = _underived("bessel_y0", "y0", "Bessel function of the second kind, order 0")
bessel_y1 = _underived("bessel_y1", "y1", "Bessel function of the second kind, order 1")
_FIRST = "modified Bessel function of the first kind, order"
_SECOND = "modified Bessel function of the second kind, order"
modified_bessel_i0 = _underived("modified_bessel_i0", "i0", f"{_FIRST} 0")
modified_bessel_i1 = _underived("modified_bessel_i1", "i1", f"{_FIRST} 1")
modified_bessel_k0 = _underived("modified_bessel_k0", "k0", f"{_SECOND} 0")
modified_bessel_k1 = _underived("modified_bessel_k1", "k1", f"{_SECOND} 1")
scaled_modified_bessel_k0 = _underived(
    "scaled_modified_bessel_k0", "k0e", f"{_SECOND} 0, scaled by exp(x)"
)
scaled_modified_bessel_k1 = _underived(
    "scaled_modified_bessel_k1", "k1e", f"{_SECOND} 1, scaled by exp(x)"
)


@op({}, **facts("spherical_bessel_j0", half=False))
def spherical_bessel_j0(xp: Any, x: Array) -> Any:
    """Return the spherical Bessel function of order 0: sin(x)/x."""
    found = xp.where(xp.isinf(x), 0, xp.sinc(x / pi))
    return found.astype(x.dtype, copy=False)


@op({}, **facts("airy_ai", half=False))
def airy_ai(xp: Any, x: Array) -> Any:
    """Return the Airy function Ai."""
    return library_function(xp, "airy")(widened(x))[0].astype(x.dtype, copy=False)


inplace("i0")
FUNCTIONS["i0_"] = Tensor.i0_  # type: ignore[attr-defined]


Step = Callable[[int, Any, Any, Any], Any]
"""(degree k, x, polynomial k, polynomial k-1) -> polynomial k+1."""


def _evaluated(xp: Any, x: Any, n: Any, first: Any, step: Step) -> Any:
    """Return polynomial ``n`` at ``x``: 0 for a negative degree, a fraction is cut."""
    x, degree = xp.asarray(x), xp.asarray(n).astype(xp.int64)
    before, now = xp.ones_like(x), first(x)
    found = xp.where(degree == 0, before, xp.where(degree == 1, now, 0))
    for k in range(1, int(degree.max()) if degree.size else 0):
        before, now = now, step(k, x, now, before)
        found = xp.where(degree == k + 1, now, found)
    return found.astype(x.dtype, copy=False)


def _polynomial(name: str, what: str, first: Any, step: Step) -> Any:
    def kernel(xp: Any, x: Operand, n: Operand) -> Any:
        return _evaluated(xp, x, n, first, step)

    kernel.__doc__ = f"Return the {what} of degree ``n`` at ``x``, without derivative."
    return op({}, **facts(name, half=False))(kernel)


def _chebyshev(k: int, x: Any, now: Any, before: Any) -> Any:
    return 2 * x * now - before


def _shifted_chebyshev(k: int, x: Any, now: Any, before: Any) -> Any:
    return 2 * (2 * x - 1) * now - before


chebyshev_polynomial_t = _polynomial(
    "chebyshev_polynomial_t", "Chebyshev polynomial T", lambda x: x, _chebyshev
)
chebyshev_polynomial_u = _polynomial(
    "chebyshev_polynomial_u", "Chebyshev polynomial U", lambda x: 2 * x, _chebyshev
)
chebyshev_polynomial_v = _polynomial(
    "chebyshev_polynomial_v", "Chebyshev polynomial V", lambda x: 2 * x - 1, _chebyshev
)
chebyshev_polynomial_w = _polynomial(
    "chebyshev_polynomial_w", "Chebyshev polynomial W", lambda x: 2 * x + 1, _chebyshev
)
shifted_chebyshev_polynomial_t = _polynomial(
    "shifted_chebyshev_polynomial_t",
    "shifted Chebyshev polynomial T",
    lambda x: 2 * x - 1,
    _shifted_chebyshev,
)
shifted_chebyshev_polynomial_u = _polynomial(
    "shifted_chebyshev_polynomial_u",
    "shifted Chebyshev polynomial U",
    lambda x: 4 * x - 2,
    _shifted_chebyshev,
)
shifted_chebyshev_polynomial_v = _polynomial(
    "shifted_chebyshev_polynomial_v",
    "shifted Chebyshev polynomial V",
    lambda x: 4 * x - 3,
    _shifted_chebyshev,
)
shifted_chebyshev_polynomial_w = _polynomial(
    "shifted_chebyshev_polynomial_w",
    "shifted Chebyshev polynomial W",
    lambda x: 4 * x - 1,
    _shifted_chebyshev,
)
hermite_polynomial_h = _polynomial(
    "hermite_polynomial_h",
    "physicists' Hermite polynomial",
    lambda x: 2 * x,
    lambda k, x, now, before: 2 * x * now - 2 * k * before,
)
hermite_polynomial_he = _polynomial(
    "hermite_polynomial_he",
    "probabilists' Hermite polynomial",
    lambda x: x,
    lambda k, x, now, before: x * now - k * before,
)
laguerre_polynomial_l = _polynomial(
    "laguerre_polynomial_l",
    "Laguerre polynomial",
    lambda x: 1 - x,
    lambda k, x, now, before: ((2 * k + 1 - x) * now - k * before) / (k + 1),
)
legendre_polynomial_p = _polynomial(
    "legendre_polynomial_p",
    "Legendre polynomial",
    lambda x: x,
    lambda k, x, now, before: ((2 * k + 1) * x * now - k * before) / (k + 1),
)
