"""What every masked operation begins with: its mask, its dims, and what to fill in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._dispatch.declare import FUNCTIONS
from .._dtypes import bool_, float32
from .._dtypes import dtype as DType
from .._tensor.tensor import Tensor
from ._identity import identity
from ._sparse import is_sparse, where_sparse

Dims = int | Sequence[int] | None


def mask_of(input: Tensor, mask: Tensor) -> Tensor:
    """Return a mask as bools, of the input's shape and layout.

    Raises IndexError for a mask of more dimensions than the input.
    """
    if mask.shape != input.shape:
        if mask.dim() > input.dim():
            raise IndexError(
                "_input_mask expected broadcastable mask (got mask dimensionality "
                "higher than of the input)"
            )
        mask = (mask.to_dense() if is_sparse(mask) else mask).expand(input.shape)
    if is_sparse(mask) and not is_sparse(input):
        mask = mask.to_dense()
    elif is_sparse(input):
        mask = mask if is_sparse(mask) else mask.to_sparse(input.sparse_dim())
        mask = mask.coalesce()
    return mask.to(bool_)


def filled(input: Tensor, mask: Tensor | None, name: str, ord: float = 2.0) -> Tensor:
    """Return the input with what changes nothing in a reduction where it is masked out.

    ``ord`` matters to "norm" alone. Raises NotImplementedError where there is no such
    value.
    """
    if mask is None:
        return input
    value = identity(name, input.dtype, ord)
    other = FUNCTIONS["full"]((), value, dtype=input.dtype, device=input.device)
    return where(mask_of(input, mask), input, other)


def where(mask: Tensor, input: Tensor, fill_value: Tensor) -> Tensor:
    """Return what a mask leaves in of an input of its layout.

    Elsewhere there is ``fill_value``, or in a COO tensor no coordinates.
    """
    choose = where_sparse if is_sparse(mask) else FUNCTIONS["where"]
    return choose(mask, input, fill_value)


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
