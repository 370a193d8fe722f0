"""Collectives in which every process ends with values of one shape."""

from __future__ import annotations

import warnings
from datetime import timedelta
from typing import Any

import numpy as np

from .._tensor.tensor import Tensor, wrap
from ._backends import Backend
from ._engine import put
from ._errors import DistBackendError
from ._group import Carrier, ProcessGroup
from ._ranks import check_list, check_same_dtype, check_tensor, root_of
from ._reduce_op import RedOpType, ReduceOp, average, check_reduction
from ._work import Work
from ._world import member

__all__ = [
    "all_reduce",
    "all_reduce_coalesced",
    "barrier",
    "broadcast",
    "monitored_barrier",
    "reduce",
    "sum_or_average",
]


def sum_or_average(op: RedOpType) -> RedOpType:
    """Return what engines compute for ``op``: averages are sums to them."""
    return ReduceOp.SUM if op is ReduceOp.AVG else op


def all_reduce(
    tensor: Tensor,
    op: RedOpType = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Replace a tensor, in every process, by the reduction of all of theirs.

    With ``async_op`` returns a Work to wait for. The tensors are of one shape and type.

    >>> import gradtape as torch
    >>> import gradtape.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.ones(2)
    >>> dist.all_reduce(x)
    >>> x
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    check_tensor(tensor, "tensor")
    found = member(group, "all_reduce")
    if found is None:
        return None
    check_reduction("all_reduce", op, tensor.dtype)
    carrier = found.carrier(tensor)

    def task() -> None:
        _all_reduce(tensor, op, carrier)

    return found.run(task, [tensor], async_op)


def _all_reduce(tensor: Tensor, op: RedOpType, carrier: Carrier) -> None:
    engine = carrier.engine
    result = engine.all_reduce(carrier.flat(tensor), sum_or_average(op))
    if op is ReduceOp.AVG:
        result = average(result, engine.size)
    put(tensor, result, "all_reduce_")


def all_reduce_coalesced(
    tensors: list[Tensor],
    op: RedOpType = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Do what `all_reduce` does, for several tensors of one type."""
    warnings.warn(
        "`torch.distributed.all_reduce_coalesced` will be deprecated. If you must use "
        "it, please revisit our documentation later at "
        "https://pytorch.org/docs/main/distributed.html#collective-functions",
        FutureWarning,
        stacklevel=2,
    )
    given = [tensors] if isinstance(tensors, Tensor) else tensors
    check_list(given, "tensor")
    check_same_dtype(*given)
    found = member(group, "all_reduce_coalesced")
    if found is None:
        return None
    carriers = [found.carrier(tensor) for tensor in given]

    def task() -> None:
        for tensor, carrier in zip(given, carriers, strict=True):
            _all_reduce(tensor, op, carrier)

    return found.run(task, list(given), async_op)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: RedOpType = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Replace the tensor of process ``dst`` by the reduction of all of theirs."""
    check_tensor(tensor, "tensor")
    found = member(group, "reduce")
    if found is None:
        return None
    root = root_of("reduce", found, dst, group_dst)
    check_reduction("reduce", op, tensor.dtype)
    carrier = found.carrier(tensor)
    engine = carrier.engine

    def task() -> None:
        result = engine.reduce(carrier.flat(tensor), sum_or_average(op), root)
        if engine.rank == root:
            if op is ReduceOp.AVG:
                result = average(result, engine.size)
            put(tensor, result, "reduce_")

    return found.run(task, [tensor], async_op)


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Replace a tensor, in every process, by that of process ``src``."""
    check_tensor(tensor, "tensor")
    found = member(group, "broadcast")
    if found is None:
        return None
    root = root_of("broadcast", found, src, group_src)
    carrier = found.carrier(tensor)

    def task() -> None:
        result = carrier.engine.broadcast(carrier.flat(tensor), root)
        if carrier.engine.rank != root:
            put(tensor, result, "broadcast_")

    return found.run(task, [tensor], async_op)


def barrier(
    group: Any = None,
    async_op: bool = False,
    device_ids: list[int] | None = None,
    timeout: timedelta | None = None,
) -> Work | None:
    """Return when all processes have come here."""
    found = member(group, "barrier")
    if found is None:
        return None
    engine = found.carrier().engine

    def task() -> None:
        usual = engine.timeout_s
        engine.timeout_s = usual if timeout is None else timeout.total_seconds()
        try:
            engine.barrier()
        finally:
            engine.timeout_s = usual

    return found.run(task, [], async_op)


def monitored_barrier(
    group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False
) -> None:
    """Return when all processes have come here; where some do not, name them.

    The process of rank 0 raises RuntimeError for the first that does not come in
    time, or for all of them with ``wait_all_ranks``.
    """
    found = member(group, "monitored_barrier")
    if found is None:
        return
    if found.backend not in (Backend.GLOO, Backend.MPI):
        raise ValueError("monitored_barrier is only implemented for GLOO backend.")
    limit = found.timeout if timeout is None else timeout
    if found.rank() == 0:
        _call_the_roll(found, limit, wait_all_ranks)
    else:
        engine = found.carrier().engine
        presence = _presence(found)
        engine.send(presence, 0, _ROLL).result()
        engine.receive(presence, 0, _ROLL).result(limit.total_seconds())


_ROLL = 2**20 + 1  # a tag that programs hardly use


def _presence(group: ProcessGroup) -> Any:
    return group.carrier().flat(wrap(np.zeros(1, np.uint8)))


def _call_the_roll(group: ProcessGroup, limit: timedelta, everyone: bool) -> None:
    engine, presence = group.carrier().engine, _presence(group)
    missing: list[int] = []
    waiting = {i: engine.receive(presence, i, _ROLL) for i in range(1, engine.size)}
    for rank, pending in waiting.items():
        try:
            pending.result(0.0 if missing else limit.total_seconds())
        except DistBackendError as error:
            missing.append(rank)
            if not everyone:
                raise _absent(missing, limit) from error
    if missing:
        raise _absent(missing, limit)
    for rank in waiting:
        engine.send(presence, rank, _ROLL).result()


def _absent(ranks: list[int], limit: timedelta) -> RuntimeError:
    named = ", ".join(map(str, ranks))
    return RuntimeError(
        f"Rank 0 timed out: ranks {named} failed to pass monitoredBarrier in "
        f"{round(limit.total_seconds() * 1000)} ms"
    )
