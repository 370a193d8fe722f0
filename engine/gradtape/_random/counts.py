"""Draw Poisson and binomial counts, number for number as PyTorch's CPU kernels do."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .gamma import Draws
from .generator import Generator

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
