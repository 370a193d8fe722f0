"""Collectives that gather values, or hand them out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from .._tensor.tensor import Tensor
from ._collectives import sum_or_average
from ._engine import joined, put, put_all
from ._group import Carrier
from ._ranks import (
    check_count,
    check_list,
    check_same_dtype,
    check_shapes,
    check_tensor,
    root_of,
    warn_old,
)
from ._reduce_op import RedOpType, ReduceOp, average, check_reduction
from ._work import Work
from ._world import member

__all__ = [
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_single",
    "all_to_all",
    "all_to_all_single",
    "gather",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "scatter",
]


def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Fill ``tensor_list``, in every process, with the tensors of all, by rank."""
    check_list(tensor_list, "tensor_list")
    check_tensor(tensor, "tensor")
    check_same_dtype(*tensor_list, tensor)
    found = member(group, "all_gather")
    if found is None:
        return None
    if len(tensor_list) != found.size():
        raise RuntimeError(
            "ProcessGroupGloo::allgather: invalid output tensor list at index 0 "
            f"(expected length {found.size()}, got {len(tensor_list)})"
        )
    check_shapes("allgather", tensor_list, tensor)
    carrier = found.carrier(tensor)

    def task() -> None:
        parts = carrier.engine.all_gather(carrier.flat(tensor))
        put_all(tensor_list, parts, "all_gather_")

    return found.run(task, tensor_list, async_op)


def all_gather_coalesced(
    output_tensor_lists: list[list[Tensor]],
    input_tensor_list: list[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Do what `all_gather` does, for several tensors.

    ``output_tensor_lists`` has a list for every process, with its tensors in order.
    """
    warnings.warn(
        "`torch.distributed.all_gather_coalesced` will be deprecated. If you must use "
        "it, please revisit our documentation later at "
        "https://pytorch.org/docs/main/distributed.html#collective-functions",
        FutureWarning,
        stacklevel=2,
    )
    check_list(input_tensor_list, "input_tensor_list")
    found = member(group, "all_gather_coalesced")
    if found is None:
        return None
    carriers = [found.carrier(tensor) for tensor in input_tensor_list]

    def task() -> None:
        for i, tensor in enumerate(input_tensor_list):
            parts = carriers[i].engine.all_gather(carriers[i].flat(tensor))
            put_all([row[i] for row in output_tensor_lists], parts, "all_gather_")

    return found.run(task, list(output_tensor_lists), async_op)


def all_gather_single(
    output_tensor: Tensor,
    input_tensor: Tensor,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Fill one tensor, in every process, with the tensors of all, one after another.

    The output has as many elements as all inputs together: it is their concatenation,
    or their stack.
    """
    check_tensor(input_tensor, "input_tensor")
    check_tensor(output_tensor, "output_tensor")
    check_same_dtype(output_tensor, input_tensor)
    found = member(group, "all_gather_into_tensor")
    if found is None:
        return None
    if output_tensor.numel() != input_tensor.numel() * found.size():
        raise RuntimeError(
            "ProcessGroupGloo::allgather: invalid tensor size at index 0: "
            f"{output_tensor.numel()} elements do not hold {found.size()} times "
            f"{input_tensor.numel()}"
        )
    carrier = found.carrier(input_tensor)

    def task() -> None:
        parts = carrier.engine.all_gather(carrier.flat(input_tensor))
        put(output_tensor, joined(parts), "all_gather_")

    return found.run(task, [output_tensor], async_op)


def all_gather_into_tensor(
    output_tensor: Tensor,
    input_tensor: Tensor,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Do what `all_gather_single` does, under its old name."""
    warn_old("all_gather_into_tensor", "all_gather_single")
    return all_gather_single(output_tensor, input_tensor, group, async_op)


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Fill ``gather_list`` in process ``dst``, by default 0, with all tensors."""
    check_tensor(tensor, "tensor")
    if gather_list:
        check_list(gather_list, "gather_list")
        check_same_dtype(*gather_list, tensor)
    found = member(group, "gather")
    if found is None:
        return None
    if dst is None and group_dst is None:
        dst = 0
    root = root_of("gather", found, dst, group_dst)
    into = gather_list or []
    _check_list_of(found.rank() == root, bool(into), "gather_list", "destination")
    if into:
        check_count("gather", "output", into, found.size())
        check_shapes("gather", into, tensor)
    carrier = found.carrier(tensor)

    def task() -> None:
        put_all(into, carrier.engine.gather(carrier.flat(tensor), root), "gather_")

    return found.run(task, into, async_op)


def _check_list_of(is_root: bool, given: bool, name: str, root: str) -> None:
    if is_root and not given:
        raise ValueError(f"Argument ``{name}`` must be specified on {root} rank.")
    if given and not is_root:
        raise ValueError(
            f"Argument ``{name}`` must NOT be specified on non-{root} ranks."
        )


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Fill a tensor with what process ``src``, by default 0, has for this process."""
    check_tensor(tensor, "tensor")
    if scatter_list:
        check_list(scatter_list, "scatter_list")
        check_same_dtype(*scatter_list, tensor)
    found = member(group, "scatter")
    if found is None:
        return None
    if src is None and group_src is None:
        src = 0
    root = root_of("scatter", found, src, group_src)
    parts = scatter_list or []
    _check_list_of(found.rank() == root, bool(parts), "scatter_list", "source")
    if parts:
        check_count("scatter", "input", parts, found.size())
        check_shapes("scatter", parts, tensor)
    carrier = found.carrier(tensor)

    def task() -> None:
        flat_parts = [carrier.flat(part) for part in parts]
        result = carrier.engine.scatter(flat_parts, carrier.flat(tensor), root)
        put(tensor, result, "scatter_")

    return found.run(task, [tensor], async_op)


# ---- collectives in which each process has something else for every other ----


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
