"""Masked operations: what is masked out is replaced by what changes nothing."""

from __future__ import annotations

from typing import Any

from .._dispatch.declare import FUNCTIONS
from .._dtypes import dtype as DType
from .._dtypes import float32, int64
from .._tensor.tensor import Tensor
from ..ops.reduction.norms import linalg_vector_norm
from ._mask import (
    Dims,
    counts,
    dims_of,
    filled,
    fractional,
    is_inexact,
    is_sparse,
    mask_of,
    one_dim,
    reduced,
)


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


def var(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the variance of what the mask leaves in; NaN where it leaves nothing.

    ``correction`` is taken off the count that is divided by: 1 unless it is given.

    >>> import gradtape as torch
    >>> x = torch.tensor([1.0, 3.0, 100.0])
    >>> torch.masked.var(x, 0, mask=torch.tensor([True, True, False]))
    tensor(2.)
    """
    assert unbiased is None or correction is None, (
        "Only one of unbiased and correction may be given"
    )
    less = float(unbiased is not False) if correction is None else float(correction)
    kind = fractional(input.dtype) if dtype is None else dtype
    compute = fractional(kind)
    inside = None if mask is None else mask_of(input, mask)
    count = counts(input, inside, dim, True)
    average = sum(input, dim, keepdim=True, dtype=kind, mask=inside) / count
    away = input - average
    square = away * away.conj()
    total = sum(square, dim, keepdim=keepdim, dtype=compute, mask=inside)
    if not keepdim:
        count = count.reshape(total.shape)
    if less:
        count = (count.to(compute.to_real()) - less).clamp_min(0)
    return (total / count).to(kind)


def std(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the root of :func:`var`."""
    return var(
        input,
        dim,
        unbiased,
        correction=correction,
        keepdim=keepdim,
        dtype=dtype,
        mask=mask,
    ).sqrt()


def cumsum(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """Return running sums of what the mask leaves in.

    >>> import gradtape as torch
    >>> x = torch.tensor([1.0, 2.0, 3.0])
    >>> torch.masked.cumsum(x, 0, mask=torch.tensor([True, False, True]))
    tensor([1., 1., 4.])
    """
    kind = dtype or input.dtype
    axis = one_dim(dim, input.dim())
    return filled(input, mask, "sum").cumsum(axis, dtype=kind).to(kind)


def cumprod(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """Return running products of what the mask leaves in."""
    kind = dtype or input.dtype
    axis = one_dim(dim, input.dim())
    return filled(input, mask, "prod").cumprod(axis, dtype=kind).to(kind)


def softmax(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """Return softmax() over what the mask leaves in; NaN where it leaves nothing."""
    axis = one_dim(dim, input.dim())
    inside = filled(input, mask, "amax")
    return inside.softmax(axis, dtype=dtype or input.dtype)


def log_softmax(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """Return log_softmax() over what the mask leaves in."""
    axis = one_dim(dim, input.dim())
    inside = filled(input, mask, "amax")
    return inside.log_softmax(axis, dtype=dtype or input.dtype)


def softmin(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """Return softmax() of the negatives of what the mask leaves in."""
    axis = one_dim(dim, input.dim())
    inside = -filled(input, mask, "amin")
    return inside.softmax(axis, dtype=dtype or input.dtype)


def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Divide what the mask leaves in by its norm along a dim; the rest is 0."""
    inside = filled(input, mask, "sum")
    kind = dtype or input.dtype
    size = norm(input, ord, dim, keepdim=True, dtype=kind, mask=mask)
    return inside / FUNCTIONS["maximum"](size, size.new_full((), eps))


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: DType | None = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """Return logaddexp() of two tensors; what is masked out counts as -inf."""
    first = filled(input, input_mask, "logaddexp")
    second = filled(other, other_mask, "logaddexp")
    return FUNCTIONS["logaddexp"](first, second).to(dtype or input.dtype)
