"""Collectives on CUDA arrays by NCCL, through CuPy.

Ranks get their GPU from the tensors they pass: one GPU for each process, chosen with
``torch.cuda.set_device(local_rank)`` before the group is made.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future
from datetime import timedelta
from typing import Any

from . import _errors
from ._engine import Array, Pending
from ._errors import DistBackendError
from ._reduce_op import RedOpType, ReduceOp
from ._store import PrefixStore, Store

__all__ = ["NcclEngine", "nccl_library", "nccl_world"]

# ncclDataType_t and ncclRedOp_t of nccl.h.
_BYTES = 1
# fmt: off
_TYPES = {
    "int8": 0, "uint8": 1, "bool": 1, "int32": 2, "uint32": 3, "int64": 4, "uint64": 5,
    "float16": 6, "float32": 7, "float64": 8, "bfloat16": 9,
}
# fmt: on
_SUM = 0
_OPS = {ReduceOp.SUM: _SUM, ReduceOp.PRODUCT: 1, ReduceOp.MAX: 2, ReduceOp.MIN: 3}
_OPS_ON_TRUTHS = {
    ReduceOp.SUM: 2,
    ReduceOp.PRODUCT: 3,
    ReduceOp.MAX: 2,
    ReduceOp.MIN: 3,
}

_PAUSE_S = 0.0001
_SUCCESS = 0
_IN_PROGRESS = 7


def nccl_library() -> tuple[Any, Any]:
    """Return CuPy and its module of NCCL.

    Raises RuntimeError, with what to install, where one is missing.
    """
    try:
        import cupy  # type: ignore[import-not-found]
        from cupy.cuda import nccl  # type: ignore[import-not-found]

        if not nccl.available:
            raise ImportError("CuPy was built without NCCL")
    except ImportError as missing:
        error = RuntimeError(_errors.NO_NCCL)
        error.add_note(_errors.INSTALL_NCCL)
        raise error from missing
    return cupy, nccl


def nccl_world(store: Store, rank: int, size: int, timeout: timedelta) -> NcclEngine:
    """Return the engine of all processes that share a store."""
    return NcclEngine(PrefixStore("nccl/0", store), rank, size, timeout)


class NcclEngine:
    """The engine of one communicator of NCCL."""

    def __init__(self, store: Store, rank: int, size: int, timeout: timedelta) -> None:
        self._cp, self._nccl = nccl_library()
        self._store, self.rank, self.size = store, rank, size
        self.timeout_s = timeout.total_seconds()
        if rank == 0:
            store.set("id", repr(self._nccl.get_unique_id()))
        word = _tuple_of_ints(store.get("id").decode())
        self._comm = self._nccl.NcclCommunicator(size, word, rank)

    def all_reduce(self, array: Array, op: RedOpType) -> Array:
        result = self._cp.empty_like(array)
        count, kind = _typed(array)
        self._comm.allReduce(
            _at(array), _at(result), count, kind, _number(op, array), self._stream()
        )
        return self._settle("all_reduce", result)

    def reduce(self, array: Array, op: RedOpType, root: int) -> Array:
        result = self._cp.empty_like(array)
        count, kind = _typed(array)
        number = _number(op, array)
        self._comm.reduce(
            _at(array), _at(result), count, kind, number, root, self._stream()
        )
        return self._settle("reduce", result if self.rank == root else array)

    def broadcast(self, array: Array, root: int) -> Array:
        result = array.copy()
        self._comm.bcast(_at(result), result.nbytes, _BYTES, root, self._stream())
        return self._settle("broadcast", result)

    def all_gather(self, array: Array) -> list[Array]:
        result = self._cp.empty((self.size, array.size), array.dtype)
        self._comm.allGather(
            _at(array), _at(result), array.nbytes, _BYTES, self._stream()
        )
        return list(self._settle("all_gather", result))

    def gather(self, array: Array, root: int) -> list[Array]:
        found = [self._cp.empty_like(array) for _ in range(self.size)]
        take = dict(enumerate(found)) if self.rank == root else {}
        self._exchange("gather", {root: array}, take)
        return found if take else []

    def scatter(self, parts: Sequence[Array], like: Array, root: int) -> Array:
        result = self._cp.empty_like(like)
        give = dict(enumerate(parts)) if self.rank == root else {}
        self._exchange("scatter", give, {root: result})
        return result

    def reduce_scatter(self, parts: Sequence[Array], op: RedOpType) -> Array:
        whole = self._cp.concatenate(list(parts))
        result = self._cp.empty_like(parts[self.rank])
        count, kind = _typed(result)
        self._comm.reduceScatter(
            _at(whole), _at(result), count, kind, _number(op, result), self._stream()
        )
        return self._settle("reduce_scatter", result)

    def all_to_all(self, parts: Sequence[Array], like: Sequence[Array]) -> list[Array]:
        found = [self._cp.empty_like(part) for part in like]
        self._exchange("all_to_all", dict(enumerate(parts)), dict(enumerate(found)))
        return found

    def barrier(self) -> None:
        self.all_reduce(self._cp.zeros(1, "uint8"), ReduceOp.SUM)

    def send(self, array: Array, peer: int, tag: int) -> Pending:
        self._exchange("send", {peer: array}, {})
        return _over((array, self.rank))

    def receive(self, like: Array, peer: int | None, tag: int) -> Pending:
        if peer is None:
            raise RuntimeError("NCCL cannot receive from whoever sends: give a rank")
        result = self._cp.empty_like(like)
        self._exchange("recv", {}, {peer: result})
        return _over((result, peer))

    def split(self, ranks: Sequence[int], number: int) -> NcclEngine | None:
        """Return an engine for some; only they take part in making it."""
        if self.rank not in ranks:
            return None
        store = PrefixStore(f"group/{number}", self._store)
        timeout = timedelta(seconds=self.timeout_s)
        return NcclEngine(store, list(ranks).index(self.rank), len(ranks), timeout)

    def close(self) -> None:
        self._comm.destroy()

    def _exchange(
        self, doing: str, give: dict[int, Array], take: dict[int, Array]
    ) -> None:
        """Send to some and take from some at once; NCCL lets a rank serve itself."""
        stream = self._stream()
        self._nccl.groupStart()
        for peer, array in give.items():
            self._comm.send(_at(array), array.nbytes, _BYTES, peer, stream)
        for peer, array in take.items():
            self._comm.recv(_at(array), array.nbytes, _BYTES, peer, stream)
        self._nccl.groupEnd()
        self._settle(doing, None)

    def _stream(self) -> int:
        return int(self._cp.cuda.get_current_stream().ptr)

    def _settle(self, doing: str, result: Any) -> Any:
        """Wait for the GPU, as long as the group's timeout, and return ``result``."""
        stream = self._cp.cuda.get_current_stream()
        end = time.monotonic() + self.timeout_s
        while not stream.done:
            late = time.monotonic() > end
            if late or self._comm.check_async_error() not in (_SUCCESS, _IN_PROGRESS):
                self._comm.abort()
                raise DistBackendError(
                    f"NCCL stopped in {doing} on rank {self.rank}: "
                    + ("its time was up" if late else "another process failed")
                )
            time.sleep(_PAUSE_S)
        return result


def _at(array: Array) -> int:
    return int(array.data.ptr)


def _typed(array: Array) -> tuple[int, int]:
    """Return the number of elements as NCCL counts them, and their type."""
    name = array.dtype.name
    if name in ("complex64", "complex128"):
        return 2 * array.size, _TYPES["float32" if name == "complex64" else "float64"]
    if name not in _TYPES:
        raise RuntimeError(f"NCCL does not reduce tensors of type {name}")
    return array.size, _TYPES[name]


def _number(op: RedOpType, array: Array) -> int:
    table = _OPS_ON_TRUTHS if array.dtype.name == "bool" else _OPS
    if op not in table:
        raise RuntimeError(f"Cannot use ReduceOp.{op.name} with NCCL")
    return table[op]


def _tuple_of_ints(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in text.strip("()").split(",") if each.strip())


def _over(value: Any) -> Pending:
    future: Future[Any] = Future()
    future.set_result(value)
    return future
