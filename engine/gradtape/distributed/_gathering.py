"""Collectives that gather values, or hand them out."""

from __future__ import annotations

import warnings
from typing import Any

from .._tensor.tensor import Tensor
from ._checks import (
    check_count,
    check_list,
    check_same_dtype,
    check_shapes,
    check_tensor,
    root_of,
    warn_old,
)
from ._tensors import joined, put, put_all
from ._work import Work
from ._world import member

__all__ = [
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_single",
    "gather",
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
