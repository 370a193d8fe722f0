"""Orthogonal polynomials of every degree, by their three-term recurrences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._dispatch.declare import Operand, op
from .._support.special import facts

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
