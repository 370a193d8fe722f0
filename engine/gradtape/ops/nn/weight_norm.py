"""Weight normalisation: a direction and a length in place of a weight."""

from __future__ import annotations

from typing import Any

from ..._dispatch.declare import Array, op, public
from ..._tensor.tensor import Tensor
from .._support.new_tensor import row_major
from .._support.special import widened


def _others(ndim: int, dim: int) -> tuple[int, ...]:
    return tuple(d for d in range(ndim) if d != dim)


def _weight_norm_backward(F: Any, grad: Any, v: Any, g: Any, dim: int) -> Any:
    """Split a gradient: along v it changes the length, the rest turns the direction.

    Lengths are computed anew, as they depend on v where this is differentiated again.
    """
    rows = _others(len(v.shape), dim % len(v.shape))
    lengths = F.sqrt(F.sum(v * v, rows, True))
    along = F.sum(grad[0] * v, rows, True) / lengths
    return (grad[0] - v * (along / lengths)) * (g / lengths), along


@op(
    {("v", "g"): _weight_norm_backward},
    name="_weight_norm_interface",
    node="WeightNormInterfaceBackward0",
    outputs=2,
    method=False,
)
def _weight_norm_interface(xp: Any, v: Array, g: Array, dim: int = 0) -> Any:
    """Return ``v`` scaled to the lengths ``g`` along the first or last dimension.

    The second result are the lengths that ``v`` has.
    """
    rows, wide = _others(v.ndim, dim % v.ndim), widened(v)
    lengths = xp.sqrt(xp.sum(wide * wide, axis=rows, keepdims=True))
    found = (wide * (widened(g) / lengths)).astype(v.dtype, copy=False)
    return row_major(xp, found), lengths.astype(g.dtype, copy=False)


@public
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """Return the norm of each slice along ``dim``; of the whole for ``dim=-1``.

    The result has as many dimensions as ``v``, of size 1 but for ``dim``.

    >>> import gradtape as torch
    >>> torch.norm_except_dim(torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5.],
            [1.]])
    """
    last = v.dim() - 1
    if dim == -1:
        return v.norm(pow)
    if dim == 0:
        shape = (v.size(0), *(1,) * last)
        return v.contiguous().view(v.size(0), -1).norm(pow, 1).view(shape)
    if dim == last:
        shape = (*(1,) * last, v.size(last))
        return v.contiguous().view(-1, v.size(last)).norm(pow, 0).view(shape)
    return norm_except_dim(v.transpose(0, dim), pow, 0).transpose(0, dim)


@public
def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """Return ``v`` scaled to the lengths ``g`` of its slices along ``dim``."""
    if dim in (0, v.dim() - 1):
        return _weight_norm_interface(v, g, dim)[0]
    return v * (g / norm_except_dim(v, 2, dim))
