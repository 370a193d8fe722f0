"""erf and gelu in float32, at ten times the speed of SciPy's erf."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._backend.normal_terms import ERF_TERMS, GELU_TERMS, INV_ROOT_TAU
from .cache_blocks import compiled_as, in_blocks


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
    _bent(xp, ERF_TERMS, x, x * x, found)


def gelu(xp: Any, x: Any) -> Any:
    """Return ``x * cdf(x)``."""
    return in_blocks(xp, _gelu, xp.empty(x.shape, x.dtype), x)


@compiled_as("pointwise.gelu")
def _gelu(xp: Any, found: Any, x: Any) -> None:
    one, half = _constants(xp, 1, 0.5)
    _bent(xp, GELU_TERMS, x, x * x, found)
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


@compiled_as("pointwise.gelu_slope", over=True)
def _gelu_backward(xp: Any, found: Any, grad: Any, x: Any) -> None:
    one, half, down, scale = _constants(xp, 1, 0.5, -0.5, INV_ROOT_TAU)
    square = x * x
    slope = xp.empty_like(x)
    _bent(xp, GELU_TERMS, x, square, slope)
    xp.add(slope, one, slope)
    xp.multiply(slope, half, slope)
    xp.multiply(square, down, square)
    xp.exp(square, square)
    xp.multiply(square, x, square)
    xp.multiply(square, scale, square)
    xp.add(slope, square, slope)
    xp.multiply(slope, grad, found)
