"""Masked operations that keep the shape: running totals and normalizations."""

from __future__ import annotations

from .._dispatch.declare import FUNCTIONS
from .._dtypes import dtype as DType
from .._tensor.tensor import Tensor
from ._mask import filled, one_dim
from ._reductions import norm


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
