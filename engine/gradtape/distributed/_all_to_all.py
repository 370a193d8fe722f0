"""Collectives in which each process has something else for every other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from .._tensor.tensor import Tensor
from ._checks import (
    check_count,
    check_list,
    check_same_dtype,
    check_shapes,
    check_tensor,
    warn_old,
)
from ._collectives import sum_or_average
from ._group import Carrier
from ._reduce_op import RedOpType, ReduceOp, average, check_reduction
from ._tensors import joined, put, put_all
from ._work import Work
from ._world import member

__all__ = [
    "all_to_all",
    "all_to_all_single",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
]


def reduce_scatter(
    output: Tensor,
    input_list: list[Tensor],
    op: RedOpType = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Fill ``output`` with the reduction of what all have for this process."""
    check_tensor(output, "output")
    check_list(input_list, "input_list")
    check_same_dtype(output, *input_list)
    found = member(group, "reduce_scatter")
    if found is None:
        return None
    check_reduction("reduce_scatter", op, output.dtype)
    check_count("reduce_scatter", "input", input_list, found.size())
    check_shapes("reduce_scatter", input_list, output)
    carrier = found.carrier(output)

    def task() -> None:
        parts = [carrier.flat(part) for part in input_list]
        _reduce_scatter(output, parts, op, carrier)

    return found.run(task, [output], async_op)


def _reduce_scatter(
    output: Tensor, parts: Sequence[Any], op: RedOpType, carrier: Carrier
) -> None:
    result = carrier.engine.reduce_scatter(parts, sum_or_average(op))
    if op is ReduceOp.AVG:
        result = average(result, carrier.engine.size)
    put(output, result, "reduce_scatter_")


def reduce_scatter_single(
    output: Tensor,
    input: Tensor,
    op: RedOpType = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Fill ``output`` with this process's part of the reduction of all inputs.

    The input has as many elements as the outputs of all processes together.
    """
    check_tensor(output, "output")
    check_tensor(input, "input")
    check_same_dtype(output, input)
    found = member(group, "reduce_scatter_tensor")
    if found is None:
        return None
    check_reduction("reduce_scatter_tensor", op, output.dtype)
    size = found.size()
    if input.numel() != output.numel() * size:
        raise RuntimeError(
            "Check failed: outputShape[0] * worldSize == inputShape[0]: the input has "
            f"{input.numel()} elements, {size} outputs have {output.numel()} each"
        )
    carrier = found.carrier(output)

    def task() -> None:
        parts = carrier.flat(input).reshape(size, -1)
        _reduce_scatter(output, list(parts), op, carrier)

    return found.run(task, [output], async_op)


def reduce_scatter_tensor(
    output: Tensor,
    input: Tensor,
    op: RedOpType = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Do what `reduce_scatter_single` does, under its old name."""
    warn_old("reduce_scatter_tensor", "reduce_scatter_single")
    return reduce_scatter_single(output, input, op, group, async_op)


def all_to_all(
    output_tensor_list: list[Tensor],
    input_tensor_list: list[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Send each process one tensor of a list and fill another with what all send."""
    check_list(output_tensor_list, "output_tensor_list")
    check_list(input_tensor_list, "input_tensor_list")
    check_same_dtype(*output_tensor_list, *input_tensor_list)
    found = member(group, "all_to_all")
    if found is None:
        return None
    check_count("alltoall", "input", input_tensor_list, found.size())
    check_count("alltoall", "output", output_tensor_list, found.size())
    carrier = found.carrier(input_tensor_list[0])

    def task() -> None:
        parts = [carrier.flat(tensor) for tensor in input_tensor_list]
        like = [carrier.flat(tensor) for tensor in output_tensor_list]
        put_all(
            output_tensor_list, carrier.engine.all_to_all(parts, like), "all_to_all_"
        )

    return found.run(task, output_tensor_list, async_op)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Send each process some rows of a tensor and fill another with what all send.

    Without sizes, the first dimension is parted evenly.
    """
    check_tensor(output, "output")
    check_tensor(input, "input")
    check_same_dtype(output, input)
    found = member(group, "all_to_all_single")
    if found is None:
        return None
    carrier = found.carrier(input)
    size = found.size()
    into = _row_bounds(output, output_split_sizes, size)
    bounds = _row_bounds(input, input_split_sizes, size)

    def task() -> None:
        like = _cut(carrier.flat(output), into)
        parts = carrier.engine.all_to_all(_cut(carrier.flat(input), bounds), like)
        put(output, joined(parts), "all_to_all_")

    return found.run(task, [output], async_op)


def _row_bounds(tensor: Tensor, sizes: list[int] | None, count: int) -> list[int]:
    """Return where, among all elements, the parts of each process begin and end."""
    rows = tensor.shape[0] if tensor.dim() else 1
    if not sizes:
        if rows % count:
            raise RuntimeError(
                "Tensor's dim 0 does not divide equally across group size"
            )
        sizes = [rows // count] * count
    if len(sizes) != count:
        raise RuntimeError("Number of tensor splits not equal to group size")
    if sum(sizes) != rows:
        raise RuntimeError("Split sizes doesn't match total dim 0 size")
    row = tensor.numel() // rows if rows else 0
    return [0, *accumulate(n * row for n in sizes)]


def _cut(array: Any, bounds: Sequence[int]) -> list[Any]:
    return [array[a:b] for a, b in pairwise(bounds)]
