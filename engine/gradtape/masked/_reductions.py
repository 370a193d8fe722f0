"""Masked reductions: what is masked out is replaced by what changes nothing."""

from __future__ import annotations

from typing import Any

from .._dispatch.declare import FUNCTIONS
from .._dtypes import dtype as DType
from .._dtypes import float32, int64
from .._tensor.tensor import Tensor
from ..ops.reduction.norms import linalg_vector_norm
from ._mask import Dims, counts, dims_of, filled, is_inexact, mask_of, one_dim
from ._sparse import is_sparse, reduced


def _total_dtype(input: Tensor, dtype: DType | None) -> DType:
    """Return the dtype that sums and products are kept in: int64 for integers."""
    return dtype or (input.dtype if is_inexact(input.dtype) else int64)


def sum(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Add up what the mask leaves in; 0 where it leaves nothing.

    >>> import gradtape as torch
    >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> torch.masked.sum(x, 1, mask=torch.tensor([[True, False], [True, True]]))
    tensor([1., 7.])
    """
    kind = _total_dtype(input, dtype)
    dims = dims_of(dim, input.dim())
    inside = filled(input, mask, "sum")
    if is_sparse(inside):
        return reduced("sum", inside, dims, bool(keepdim), kind)
    return inside.sum(dims, bool(keepdim), dtype=kind)


def prod(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Multiply what the mask leaves in; 1 where it leaves nothing."""
    dims = dims_of(dim, input.dim())
    kind = _total_dtype(input, dtype)
    found = filled(input, mask, "prod")
    if is_sparse(found):
        _check_masked("prod", mask)
        return reduced("prod", found, dims, bool(keepdim), kind)
    found = found.to(kind)
    for each in reversed(dims):
        found = found.prod(each, keepdim=bool(keepdim))
    return found


def _check_masked(name: str, mask: Tensor | None) -> None:
    if mask is None:
        raise ValueError(
            f"masked {name} expects explicit mask for sparse_coo tensor input"
        )


def _extreme(
    name: str,
    input: Tensor,
    dim: Dims,
    keepdim: bool,
    dtype: DType | None,
    mask: Tensor | None,
) -> Tensor:
    kind = dtype or input.dtype
    inside = filled(input, mask, name)
    dims = dims_of(dim, input.dim())
    if is_sparse(inside):
        _check_masked("amax", mask)  # PyTorch says so for amin too
        return reduced(name, inside, dims, keepdim, kind)
    return FUNCTIONS[name](inside, dims, keepdim).to(kind)


def amax(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the largest of what the mask leaves in."""
    return _extreme("amax", input, dim, bool(keepdim), dtype, mask)


def amin(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the smallest of what the mask leaves in."""
    return _extreme("amin", input, dim, bool(keepdim), dtype, mask)


def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return where the largest is of what the mask leaves in, in the input's dtype."""
    found = filled(input, mask, "amax").argmax(dim, bool(keepdim))
    return found.to(dtype or input.dtype)


def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return where the smallest is of what the mask leaves in, in the input's dtype."""
    found = filled(input, mask, "argmin").argmin(dim, bool(keepdim))
    return found.to(dtype or input.dtype)


def mean(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Average what the mask leaves in; NaN where it leaves nothing.

    Raises ValueError for a dtype that holds no fractions.
    """
    kind = dtype or input.dtype
    if not is_inexact(kind):
        source = "Input" if dtype is None else "Optional"
        raise ValueError(
            f"mean(): Could not infer output dtype. {source} dtype must be either a "
            f"floating point or complex dtype. Got: {kind}"
        )
    inside = None if mask is None else mask_of(input, mask)
    count = counts(input, inside, dim, bool(keepdim))
    return sum(input, dim, keepdim=keepdim, dtype=kind, mask=inside) / count


def median(
    input: Tensor,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the median of what the mask leaves in; NaN where it leaves nothing.

    Raises ValueError for integers, which have no NaN, in the latter case.
    """
    axis = one_dim(dim, input.dim())
    if input.is_floating_point():
        return filled(input, mask, "median").nanmedian(axis, keepdim).values
    found = filled(input.to(float32), mask, "median").nanmedian(axis, keepdim).values
    if found.isnan().any():
        raise ValueError(
            "masked median expects no fully masked out rows if dtype is not floating "
            "point"
        )
    return found.to(dtype or input.dtype)


def logsumexp(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the logarithm of the sum of exponentials of what the mask leaves in."""
    dims = dims_of(dim, input.dim())
    found = FUNCTIONS["logsumexp"](filled(input, mask, "logsumexp"), dims, keepdim)
    return found.to(dtype or input.dtype)


def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the vector norm of what the mask leaves in."""
    degree: Any = 2.0 if ord is None else ord
    inside = filled(input, mask, "norm", degree)
    dims = dims_of(dim, input.dim())
    kind = dtype or input.dtype
    return linalg_vector_norm(inside, degree, dims, bool(keepdim), dtype=kind)
