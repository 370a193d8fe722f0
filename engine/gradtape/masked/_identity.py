"""The values that change nothing in a reduction."""

from __future__ import annotations

from math import inf, nan

from .._dtypes import dtype as DType
from .._dtypes import iinfo, uint8


def identity(name: str, dtype: DType, ord: float = 2.0) -> float:
    """Return what a reduction over elements of a dtype ignores.

    ``ord`` matters to "norm" alone. Raises NotImplementedError where there is no such
    value, and TypeError for complex numbers, which have no order.
    """
    is_integer = dtype.is_signed or dtype is uint8
    if name in ("sum", "cumsum", "prod", "cumprod"):
        return int(name.endswith("prod"))
    if name == "norm":
        return inf if ord == -inf else 0
    if name == "median":
        return nan
    if name in ("amax", "argmax", "logaddexp", "logsumexp"):
        if dtype.is_floating_point or (dtype.is_complex and name == "logsumexp"):
            return -inf
        if is_integer:
            return iinfo(dtype).min
    elif name in ("amin", "argmin"):
        if dtype.is_floating_point:
            return inf
        if is_integer:
            return iinfo(dtype).max
    raise NotImplementedError(f"identity of {name} on {dtype} input")
