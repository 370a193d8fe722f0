"""Draw gamma and Dirichlet samples, number for number as PyTorch's CPU kernels do."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .generator import Generator, default_generator

Array: TypeAlias = NDArray[Any]

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
