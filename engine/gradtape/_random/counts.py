"""Draw Poisson and binomial counts, number for number as PyTorch's CPU kernels do."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .generator import Generator, default_generator

Array: TypeAlias = NDArray[Any]

_NEGATIVE_RATE = "invalid Poisson rate, expected rate to be non-negative"


def poisson(rates: Array, generator: Generator | None = None) -> Array:
    """Return one Poisson count for each rate, in the rates' type.

    Raises RuntimeError where a rate is negative or no number.
    """

    def draw(rate: float) -> int:
        if not rate >= 0:
            raise RuntimeError(_NEGATIVE_RATE)
        if rate == 0:
            return 0
        return _poisson_by_rejection(rate, draws) if rate >= 10 else _few(rate, draws)

    with Draws(generator, rates.size) as draws:
        return _each(draw, rates)


def _few(rate: float, draws: Draws) -> int:
    """Count the uniform numbers whose product stays above exp(-rate) (Knuth)."""
    least, product, count = math.exp(-rate), draws.uniform(), 0
    while product > least:
        product *= draws.uniform()
        count += 1
    return count


def _poisson_by_rejection(rate: float, draws: Draws) -> int:
    """Hörmann's PTRS: "The transformed rejection method", 1993."""
    root, log_rate = math.sqrt(rate), math.log(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    surely = 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = draws.uniform() - 0.5, draws.uniform()
        us = 0.5 - abs(u)
        if us == 0:  # the floor below would be infinite
            continue
        k = _as_int64((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= surely:
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        height = _log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b)
        if height <= -rate + k * log_rate - math.lgamma(k + 1):
            return k


def _as_int64(x: float) -> int:
    """Round down as C does, where what does not fit becomes the least integer."""
    return math.floor(x) if abs(x) < 2**63 else -(2**63)


def binomial(
    counts: Array, chances: Array, generator: Generator | None = None
) -> Array:
    """Return how many of ``counts`` trials succeed; both arrays have one shape."""

    def draw(count: float, chance: float) -> float:
        if math.isnan(count) or math.isnan(chance):
            return math.nan
        if count <= 0 or chance <= 0:
            return 0
        if chance >= 1:
            return count
        if chance <= 0.5:
            return _successes(count, chance, draws)
        rest = float(chances.dtype.type(1) - chances.dtype.type(chance))
        return count - _successes(count, rest, draws)

    with Draws(generator, counts.size) as draws:
        return _each(draw, counts, chances)


def _successes(count: float, chance: float, draws: Draws) -> float:
    by = _binomial_by_rejection if count * chance >= 10 else _binomial_by_gaps
    return by(count, chance, draws)


def _binomial_by_gaps(count: float, chance: float, draws: Draws) -> float:
    """Add up geometric waiting times until they exceed the number of trials."""
    log_failure, passed, found = math.log1p(-chance), 0.0, 0.0
    while True:
        passed += _ceiling(_log(draws.uniform()) / log_failure)
        if passed > count:
            return found
        found += 1


def _binomial_by_rejection(count: float, chance: float, draws: Draws) -> float:
    """Hörmann's BTRS: "The generation of binomial random variates", 1993."""
    deviation = math.sqrt(count * chance * (1 - chance))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * chance
    centre = count * chance + 0.5
    surely = 0.92 - 4.2 / b
    odds = chance / (1 - chance)
    alpha = (2.83 + 5.1 / b) * deviation
    m = math.floor((count + 1) * chance)
    while True:
        u, v = draws.uniform() - 0.5, draws.uniform()
        us = 0.5 - abs(u)
        if us == 0:
            continue
        k = math.floor((2 * a / us + b) * u + centre)
        if us >= 0.07 and v <= surely:
            return k
        if k < 0 or k > count:
            continue
        if _log(v * alpha / (a / (us * us) + b)) <= _log_ratio(count, odds, m, k):
            return k


def _log_ratio(count: float, odds: float, m: float, k: float) -> float:
    """Return the logarithm of how likely k is, relative to the mode m."""
    return (
        (m + 0.5) * math.log((m + 1) / (odds * (count - m + 1)))
        + (count + 1) * math.log((count - m + 1) / (count - k + 1))
        + (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
        + (_stirling_tail(m) + _stirling_tail(count - m))
        - (_stirling_tail(k) + _stirling_tail(count - k))
    )


def _stirling_tail(k: float) -> float:
    """Return log(k!) less Stirling's formula for it."""
    if k < len(_TAILS):
        return _TAILS[int(k)]
    square = (k + 1) * (k + 1)
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)


# log(k!) - (log(sqrt(2 pi)) + (k + 1/2) log(k + 1) - (k + 1)), for k from 0 to 9.
_TAILS = tuple(
    math.lgamma(k + 1)
    - (0.5 * math.log(2 * math.pi) + (k + 0.5) * math.log(k + 1) - (k + 1))
    for k in range(10)
)


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf


def _ceiling(x: float) -> float:
    return x if math.isinf(x) else math.ceil(x)


def _each(draw: Callable[..., float], *arrays: Array) -> Array:
    """Draw for each element, in row-major order, into the first array's type."""
    rows = zip(*(a.reshape(-1).tolist() for a in arrays), strict=True)
    found = np.array([draw(*row) for row in rows], np.float64)
    return found.reshape(arrays[0].shape).astype(arrays[0].dtype)


# ---- gamma and Dirichlet samples ----


# The kernel's constants are floats, also where it computes in doubles.
_THIRD = np.float32(1) / np.float32(3)
_SQUEEZE = float(np.float32(0.0331))

_MOST_AHEAD = 4096
"""How many numbers are drawn at once: a single one takes as long as a hundred."""


class Draws:
    """Draw single doubles: uniform in [0, 1), and standard normal in pairs.

    A ``with`` block draws them ahead, many at once, and gives back what is left over.
    """

    __slots__ = ("_ahead", "_before", "_block", "_source")

    def __init__(self, generator: Generator | None, samples: int) -> None:
        self._source = generator or default_generator
        self._block = min(4 * samples, _MOST_AHEAD)
        self._ahead: list[float] = []
        """What was drawn, the next number last."""

    def __enter__(self) -> Draws:
        return self

    def __exit__(self, *_: object) -> None:
        if self._ahead:
            self._source.point = self._before
            self._source.uniform64(self._block - len(self._ahead))

    def uniform(self) -> float:
        """Return the next uniform number, of 53 bits."""
        if not self._ahead:
            self._before = self._source.point
            self._ahead = self._source.uniform64(self._block)[::-1].tolist()
        return self._ahead.pop()

    def normal(self) -> float:
        """Return the next number of the serial Box-Muller kernel."""
        kept = self._source.next_normal
        if kept is not None:
            self._source.next_normal = None
            return kept
        angle = 2.0 * math.pi * self.uniform()
        radius = math.sqrt(-2.0 * math.log1p(-self.uniform()))
        self._source.next_normal = radius * math.sin(angle)
        return radius * math.cos(angle)


def standard_gamma(alpha: Array, generator: Generator | None = None) -> Array:
    """Return gamma samples of rate 1, one for each shape parameter of ``alpha``.

    Zero and negative parameters give the smallest positive number of the type.
    """
    with np.errstate(all="ignore"), Draws(generator, alpha.size) as draws:
        found = _gamma(alpha, draws)
    return np.fmax(found.astype(alpha.dtype), np.finfo(alpha.dtype).tiny)


def dirichlet(alpha: Array, generator: Generator | None = None) -> Array:
    """Return one point of the simplex, along the last axis, for each ``alpha``.

    Components stay inside (0, 1), however small their parameters are.
    """
    kind = alpha.dtype.type
    with np.errstate(all="ignore"):
        drawn = standard_gamma(alpha.astype(np.float64), generator)
        share = drawn / (drawn.sum(-1, keepdims=True) if alpha.ndim else drawn)
        low, high = np.finfo(kind).tiny, np.nextafter(kind(1), kind(0))
        return share.astype(kind).clip(low, high)


def _gamma(alphas: Array, draws: Draws) -> NDArray[np.float64]:
    """Draw in row-major order; what one sample needs is computed for all at once."""
    small = alphas < 1
    raised = np.where(small, alphas + alphas.dtype.type(1), alphas)
    shift = (raised - raised.dtype.type(_THIRD)).astype(np.float64)
    slope = 1.0 / np.sqrt(9.0 * shift)
    inverse = alphas.dtype.type(1) / alphas
    columns = (alphas, small, inverse, shift, slope)
    rows = zip(*(column.reshape(-1).tolist() for column in columns), strict=True)
    found = [
        _one_gamma(small, inverse, shift, slope, draws) if alpha != 0 else 0.0
        for alpha, small, inverse, shift, slope in rows
    ]
    return np.array(found, np.float64).reshape(alphas.shape)


def _one_gamma(
    small: bool, inverse: float, shift: float, slope: float, draws: Draws
) -> float:
    """Marsaglia and Tsang, "A simple method for generating gamma variables", 2000.

    A parameter below 1 is raised by 1, and the sample scaled down by a power of a
    uniform number.
    """
    # NumPy's power goes to infinity where Python's raises.
    scale = float(np.float64(1.0 - draws.uniform()) ** inverse) if small else 1.0
    while True:
        x = draws.normal()
        y = 1.0 + slope * x
        while y <= 0:
            x = draws.normal()
            y = 1.0 + slope * x
        v, xx = y * y * y, x * x
        u = 1.0 - draws.uniform()
        if u < 1.0 - _SQUEEZE * xx * xx:
            return scale * shift * v
        if math.log(u) < 0.5 * xx + shift * (1.0 - v + math.log(v)):
            return scale * shift * v
