"""Ops that do to tangents what they do to values: pushed by calling them again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._dispatch.declare import tensor_ops
from .._graph.op import Op
from .._tensor.tensor import Tensor, wrap

Tangents = Sequence[Tensor | None]

_LINEAR_NAMES = """
_cumsum _from_device _mean_all _mean_dims _mean_plain _onto_device _reverse_cumsum
_strided_gather _strided_scatter _sum_all _sum_dims _sum_plain _to_copy cat clone
col2im conj diag_embed diagonal_backward diagonal_copy embedding flip im2col index
index_select max_unpool2d max_unpool3d neg repeat roll rot90 select_backward
slice_backward stack trace tril triu unfold_backward
"""
LINEAR = frozenset(_LINEAR_NAMES.split())
"""Ops that do to tangents what they do to values: no need to transpose twice.

For some there is no other way: the backward of ``embedding`` leaves out the padding,
and that of ``max_unpool2d`` gives a gradient to each value that was put into one place,
where only the last one stayed.
"""


def inputs_of(op: Op, args: Sequence[Any]) -> list[Any]:
    """Return the arguments that have a derivative, a list of them spread out."""
    if op.listed is None:
        return [args[i] for i in op.edges]
    return [*args[: op.listed], *args[op.listed], *args[op.listed + 1 :]]


def in_place_of(op: Op, args: Sequence[Any], tangents: Tangents) -> tuple[Any, ...]:
    """Return the arguments with tangents for values, and zeros where there is none."""
    pushed = [
        tensor_ops.zeros_like(wrap(each._data)) if t is None else t
        for each, t in zip(inputs_of(op, args), tangents, strict=True)
    ]
    if op.listed is not None:
        return (pushed, *args[1:])
    replaced = dict(zip(op.edges, pushed, strict=True))
    return tuple([replaced.get(i, each) for i, each in enumerate(args)])
