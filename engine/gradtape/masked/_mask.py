"""What every masked operation begins with: its mask, its dims, and what to fill in."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan
from typing import Any

from .._define import FUNCTIONS
from .._dtypes import bool_, float32, iinfo, uint8
from .._dtypes import dtype as DType
from .._tensor import Tensor

Dims = int | Sequence[int] | None


def mask_of(input: Tensor, mask: Tensor) -> Tensor:
    """Return a mask as bools of the input's shape.

    Raises IndexError for a mask of more dimensions than the input.
    """
    if mask.shape != input.shape:
        if mask.dim() > input.dim():
            raise IndexError(
                "_input_mask expected broadcastable mask (got mask dimensionality "
                "higher than of the input)"
            )
        mask = mask.expand(input.shape)
    return mask.to(bool_)


def filled(input: Tensor, mask: Tensor | None, name: str, ord: float = 2.0) -> Tensor:
    """Return the input with what changes nothing in a reduction where it is masked out.

    ``ord`` matters to "norm" alone. Raises NotImplementedError where there is no such
    value.
    """
    if mask is None:
        return input
    value = _identity(name, input, ord)
    other = FUNCTIONS["full"]((), value, dtype=input.dtype, device=input.device)
    return FUNCTIONS["where"](mask_of(input, mask), input, other)


def _identity(name: str, input: Tensor, ord: float) -> float:
    dtype = input.dtype
    is_integer = (dtype.is_signed and not dtype.is_complex) or dtype is uint8
    if name in ("sum", "prod"):
        return int(name == "prod")
    if name == "norm":
        return inf if ord == -inf else 0
    if name == "median":
        return nan
    if name in ("amax", "logaddexp", "logsumexp"):
        if dtype.is_floating_point or (dtype.is_complex and name == "logsumexp"):
            return -inf
        if is_integer:
            return iinfo(dtype).min
    elif dtype.is_floating_point:
        return inf
    elif is_integer:
        return iinfo(dtype).max
    raise NotImplementedError(f"identity of {name} on {dtype} input")


def dims_of(dim: Dims, ndim: int) -> tuple[int, ...]:
    """Return the dims to reduce, in order, counted from the front.

    None and the empty tuple are all of them. Raises RuntimeError for a dim given
    twice, IndexError for one that is not there.
    """
    if dim is None or dim == ():
        return tuple(range(ndim))
    bound = max(ndim, 1)
    found: list[int] = []
    for each in (dim,) if isinstance(dim, int) else dim:
        if each in found:
            raise RuntimeError(f"dim={each} appears multiple times in the list of dims")
        if not -bound <= each < bound:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-bound}, "
                f"{bound - 1}], but got {each})"
            )
        found.append(each % bound)
    return tuple(sorted(found))


def one_dim(dim: int, ndim: int) -> int:
    """Return a dim counted from the front; see :func:`dims_of`."""
    return dims_of(dim, ndim)[0]


def counts(input: Tensor, mask: Tensor | None, dim: Any, keepdim: bool) -> Tensor:
    """Return how many elements of each reduced row are there."""
    if mask is not None:
        return mask.sum(dim, keepdim)
    whole = FUNCTIONS["ones_like"](input, dtype=bool_)
    return whole.sum(dims_of(dim, input.dim()), keepdim)


def is_inexact(dtype: DType) -> bool:
    """Tell whether a dtype holds fractions."""
    return dtype.is_floating_point or dtype.is_complex


def fractional(dtype: DType) -> DType:
    """Return a dtype that holds fractions: float32 in place of integers."""
    return dtype if is_inexact(dtype) else float32
