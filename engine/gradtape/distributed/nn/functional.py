"""Collectives that return tensors of their own, and that gradients flow through.

Every process computes a loss; a gradient is that of the sum of all losses.
"""

from __future__ import annotations

from typing import Any

from ..._tensor.tensor import Tensor
from ...autograd import Function
from .. import _collectives as collectives
from .. import _gathering as gathering
from .._ranks import get_group_rank, get_rank, get_world_size
from .._reduce_op import RedOpType, ReduceOp
from .._world import registered

__all__ = ["all_gather", "all_reduce", "broadcast"]


class _AllReduce(Function):
    """The reduction goes to all, so the gradients of all come back, reduced alike."""

    @staticmethod
    def forward(ctx: Any, op: RedOpType, group: Any, tensor: Tensor) -> Tensor:
        ctx.op, ctx.group = op, group
        result = tensor.clone()
        collectives.all_reduce(result, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, None, Tensor]:
        return None, None, _AllReduce.apply(ctx.op, ctx.group, grads[0])


class _AllGather(Function):
    """A tensor goes to all, so its gradients come from all, and are added."""

    @staticmethod
    def forward(ctx: Any, group: Any, tensor: Tensor) -> tuple[Tensor, ...]:
        ctx.group = group
        found = [tensor.new_empty(tensor.shape) for _ in range(get_world_size(group))]
        gathering.all_gather(found, tensor.contiguous(), group)
        return tuple(found)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, Tensor]:
        sums = [_AllReduce.apply(ReduceOp.SUM, ctx.group, grad) for grad in grads]
        return None, sums[get_rank(ctx.group)]


class _Broadcast(Function):
    """The tensor of one goes to all, so the gradients of all come back to it."""

    @staticmethod
    def forward(ctx: Any, src: int, group: Any, tensor: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        result = tensor.clone()
        collectives.broadcast(result, src, group)
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, None, Tensor]:
        total = _AllReduce.apply(ReduceOp.SUM, ctx.group, grads[0])
        own = get_group_rank(registered(ctx.group), ctx.src) == get_rank(ctx.group)
        return None, None, total if own else total * 0


def all_reduce(
    tensor: Tensor, op: RedOpType = ReduceOp.SUM, group: Any = None
) -> Tensor:
    """Return the reduction of the tensors of all processes.

    Its derivative is right for sums and averages.
    """
    return _AllReduce.apply(op, group, tensor)


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """Return the tensors of all processes, by rank."""
    return _AllGather.apply(group, tensor)


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """Return the tensor of process ``src``."""
    return _Broadcast.apply(src, group, tensor)
