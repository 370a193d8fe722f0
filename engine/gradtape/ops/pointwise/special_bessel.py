"""Bessel functions and their kin, as gradtape.special offers them."""

from __future__ import annotations

from math import pi
from typing import Any

from ..._dispatch.declare import FUNCTIONS, Array, op, pointwise
from ..._dispatch.inplace import inplace
from ..._tensor.tensor import Tensor
from .._support.reduction import values_of
from .._support.special import facts, from_library, lacks, library_function, widened

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
