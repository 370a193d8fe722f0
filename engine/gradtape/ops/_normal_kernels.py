"""erf and gelu in float32, at ten times the speed of SciPy's erf."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from ._blocks import in_blocks

# erf(x) = tanh(x * p(x * x)). The polynomial p was fitted, by least squares with
# weights raised where the error was largest, on 0 < x < 4, beyond which erf is 1. Its
# relative error there is 9.5e-8 at most; computed in float32, 2.5e-7. It stays above
# its first value for all x. In terms of x / sqrt(2) it begins as gelu's well-known
# approximation does (Hendrycks and Gimpel, 2016).
_TERMS = (
    1.418930035180517e-07,
    -5.669015903618716e-06,
    8.763979723337874e-05,
    -6.197893943881161e-04,
    -1.9182711614320518e-04,
    1.0276905486602805e-01,
    1.1283792743384782,
)
_GELU_TERMS = tuple(
    term * sqrt(0.5) * 0.5**power
    for term, power in zip(_TERMS, range(len(_TERMS) - 1, -1, -1), strict=True)
)
_INV_ROOT_TAU = 0.3989422804014327


def serves(array: Any, shape: tuple[int, ...] | None = None) -> bool:
    """Tell whether the functions here take an array: float32, in one piece."""
    return (
        array.dtype == np.float32
        and bool(array.flags.c_contiguous)
        and shape in (None, array.shape)
    )


def _constants(xp: Any, *values: float) -> list[Any]:
    # As 0-d arrays: a Python number costs 0.2 µs more in each of the calls.
    return [xp.asarray(value, "float32") for value in values]


def _bent(xp: Any, terms: tuple[float, ...], x: Any, square: Any, found: Any) -> None:
    """Write ``tanh(x * p(square))`` to ``found``."""
    first, *rest = _constants(xp, *terms)
    xp.multiply(square, first, found)
    for term in rest[:-1]:
        xp.add(found, term, found)
        xp.multiply(found, square, found)
    xp.add(found, rest[-1], found)
    xp.multiply(found, x, found)
    xp.tanh(found, found)


def erf(xp: Any, x: Any) -> Any:
    """Return the error function."""
    return in_blocks(xp, _erf, xp.empty(x.shape, x.dtype), x)


def _erf(xp: Any, found: Any, x: Any) -> None:
    _bent(xp, _TERMS, x, x * x, found)


def gelu(xp: Any, x: Any) -> Any:
    """Return ``x * cdf(x)``."""
    return in_blocks(xp, _gelu, xp.empty(x.shape, x.dtype), x)


def _gelu(xp: Any, found: Any, x: Any) -> None:
    one, half = _constants(xp, 1, 0.5)
    _bent(xp, _GELU_TERMS, x, x * x, found)
    xp.add(found, one, found)
    xp.multiply(found, x, found)
    xp.multiply(found, half, found)


def gelu_backward(xp: Any, grad: Any, x: Any, found: Any = None) -> Any:
    """Return ``grad * (cdf(x) + x * density(x))``, in the memory of ``found`` if given.

    That may be the gradient's own: half a million elements take 1.7 ms then, and 2.0
    where new memory has to come into the cache.
    """
    if found is None:
        found = xp.empty(x.shape, x.dtype)
    return in_blocks(xp, _gelu_backward, found, grad, x)


def _gelu_backward(xp: Any, found: Any, grad: Any, x: Any) -> None:
    one, half, down, scale = _constants(xp, 1, 0.5, -0.5, _INV_ROOT_TAU)
    square = x * x
    slope = xp.empty_like(x)
    _bent(xp, _GELU_TERMS, x, square, slope)
    xp.add(slope, one, slope)
    xp.multiply(slope, half, slope)
    xp.multiply(square, down, square)
    xp.exp(square, square)
    xp.multiply(square, x, square)
    xp.multiply(square, scale, square)
    xp.add(slope, square, slope)
    xp.multiply(slope, grad, found)
