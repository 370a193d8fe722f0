"""Matrix products of numbers near zero, which some processors multiply in slow motion.

Terms below 1.2e-38 are denormal in float32, and each costs Intel's processors an
assist: a product of 32 x 512 x 128 takes 5 ms then, 100 times as long. Vanishing
gradients of a long sequence get there: nine tenths of the backward of a long LSTM went
on them. In float64 the same terms are ordinary numbers, and the product takes 0.11 ms.
What comes out is rounded once, so it is at least as exact.

Other processors do not mind, AMD's of today among them, and float64 takes twice as long
as float32 there. Which kind this one is, is measured once: see :class:`minds`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from time import perf_counter
from typing import Any

import numpy as np

from ..._common.compiled import compiled

MANY = 1 << 17
"""Terms from which on a product is looked at: a thousandth of a second, if denormal."""

FAINT = 1e-36
"""Where elements that were looked at multiply to less, many terms are denormal."""


def multiply(multiplied: Callable[..., Any], left: Any, right: Any) -> Any:
    """Return ``multiplied(left, right)``, matrices or batches of them, of one type."""
    if (
        left.dtype.char == "f"
        and type(left) is np.ndarray
        and left.size * right.shape[-1] >= MANY
        and is_faint(left, right)
    ):
        return multiplied(left.astype("d"), right.astype("d")).astype("f")
    return multiplied(left, right)


def is_faint(left: Any, right: Any) -> bool:
    """Tell whether a few elements of each promise denormal terms, which take long."""
    return minds.denormals() and least_seen(left) * least_seen(right) < FAINT


class minds:
    """Whether this processor multiplies denormal numbers slowly; None: not measured."""

    measured: bool | None = None

    @classmethod
    def denormals(cls) -> bool:
        """Return the answer; those that do take many times as long as for others."""
        if cls.measured is None:
            cls.measured = _seconds(1e-39) > 8 * _seconds(1.0)
        return cls.measured


def _seconds(value: float) -> float:
    """Return the least time of several that products with such values took."""
    taken: list[float] = []
    with np.errstate(all="ignore"):
        values, found = np.full(1 << 12, value, "f"), np.empty(1 << 12, "f")
        for _ in range(9):
            begin = perf_counter()
            np.multiply(values, np.float32(0.5), found)
            taken.append(perf_counter() - begin)
    return min(taken)


def least_seen(array: Any) -> float:
    """Return the least of some magnitudes, zeros aside: they slow nothing down."""
    size, item = array.size, array.item  # not at the ends, which may be padding
    seen = (item(size // 5), item(size * 3 // 7), item(size * 7 // 9))
    return min(map(abs, filter(None, seen)), default=inf)


least_seen = compiled(least_seen)
is_faint = compiled(is_faint)
multiply = compiled(multiply)
