"""Drawing from a normal distribution that is cut on both sides."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._random import continuous as fill


def normal_cdf(x: float) -> float:
    """Return the chance that a standard normal number is smaller."""
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def redraw_normal(
    out: Any, mean: float, std: float, a: float, b: float, generator: Any
) -> None:
    """Draw again what lies outside: for intervals that hold most of the mass."""
    low, high = out.dtype.type(a), out.dtype.type(b)
    fill.normal_(out, mean, std, generator)
    while True:
        outside = (out < low) | (out > high)
        if not outside.any():
            return
        again = fill.normal_(np.empty_like(out), mean, std, generator)
        np.copyto(out, again, where=outside)


def reject_uniform(
    out: Any, mean: float, std: float, a: float, b: float, generator: Any
) -> None:
    """Sample by rejection: the interval holds too little of the normal mass."""
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2

    def log_density(x: Any) -> Any:
        return ((x - mean) / std) ** 2 * -0.5 - peak

    fill.uniform_(out, a, b, generator)
    chance = np.empty_like(out)
    candidates, first = out.copy(), True
    pending = np.ones(out.shape, bool)
    while pending.any():
        if not first:
            fill.uniform_(candidates, a, b, generator)
            np.copyto(out, candidates, where=pending)
        first = False
        with np.errstate(divide="ignore"):
            refused = np.log(fill.uniform_(chance, 0.0, 1.0, generator))
        pending &= refused > log_density(candidates)
