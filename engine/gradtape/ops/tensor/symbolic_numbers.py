"""The types of numbers that a tracer does not know yet, and arithmetic on sizes.

Here every size is a plain number: the types are for annotations and ``isinstance``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._dispatch.declare import public

_FLOATS = (np.floating, float)
_NUMBERS = (np.integer, np.floating, int, float)


class SymInt:
    """An int that is not known yet."""


class SymFloat:
    """A float that is not known yet."""


class SymBool:
    """A bool that is not known yet."""


@public
def sym_int(a: Any) -> int:
    """Return a number cut to an int."""
    return int(a)


@public
def sym_float(a: Any) -> float:
    """Return a number as a float."""
    return float(a)


@public
def sym_max(a: Any, b: Any) -> Any:
    """Return the greater of two numbers: a float where one of them is.

    >>> import gradtape as torch
    >>> torch.sym_max(2, 1.5)
    2.0
    """
    return _like_both(max, a, b)


@public
def sym_min(a: Any, b: Any) -> Any:
    """Return the smaller of two numbers: a float where one of them is."""
    return _like_both(min, a, b)


def _like_both(choose: Any, a: Any, b: Any) -> Any:
    for each in (a, b):
        if not isinstance(each, _NUMBERS):
            raise AssertionError(f"expected {_NUMBERS}, got {type(each)}")
    found = choose(a, b)
    floats = isinstance(a, _FLOATS) or isinstance(b, _FLOATS)
    return float(found) if floats else found


@public
def sym_not(a: Any) -> bool:
    """Return whether ``a`` is false."""
    return not a


@public
def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """Return ``t`` where ``b`` holds, else ``f``, which must be of the same type."""
    if not isinstance(b, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise AssertionError(f"expected SymBool or bool, got {type(b)}")
    if type(t) is not type(f):
        raise AssertionError(f"type mismatch: {type(t)} vs {type(f)}")
    return t if b else f


@public
def sym_sum(*args: Any) -> Any:
    """Return the sum of the arguments, or of those in the only one."""
    alone = len(args) == 1 and isinstance(args[0], list | tuple)
    return sum(args[0] if alone else args)


@public
def sym_sqrt(a: float) -> float:
    """Return the square root of a number."""
    return math.sqrt(a)
