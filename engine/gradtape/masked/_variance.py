"""The variance of what a mask leaves in, and its root."""

from __future__ import annotations

from .._dtypes import dtype as DType
from .._tensor.tensor import Tensor
from ._mask import Dims, counts, fractional, mask_of
from ._reductions import sum as total_of


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
    average = total_of(input, dim, keepdim=True, dtype=kind, mask=inside) / count
    away = input - average
    square = away * away.conj()
    total = total_of(square, dim, keepdim=keepdim, dtype=compute, mask=inside)
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
