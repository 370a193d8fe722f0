"""Collectives on CPU arrays by MPI, for programs that mpirun starts.

Calls do not block in MPI: they begin, and are asked whether they are over, so that
a process that waits in vain says so when its time is up, and leaves the CPU to others.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from types import TracebackType
from typing import Any

import numpy as np

from . import _errors
from ._engine import Array, Pending
from ._errors import DistBackendError
from ._reduce_op import RedOpType, ReduceOp, combine
from ._store import Store
from ._tcp_store import TCPStore

__all__ = ["MpiEngine", "mpi_world", "started_by_mpirun", "store_by_mpi"]

# Where launchers of MPI say the number of processes: those of MPICH and its kin, and of
# Open MPI.
_SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")

_NAMES = {
    ReduceOp.SUM: "SUM",
    ReduceOp.PRODUCT: "PROD",
    ReduceOp.MIN: "MIN",
    ReduceOp.MAX: "MAX",
    ReduceOp.BAND: "BAND",
    ReduceOp.BOR: "BOR",
    ReduceOp.BXOR: "BXOR",
}
# The types that every MPI reduces; others are gathered, and reduced here.
_REDUCIBLE = frozenset("bBhHiIlLqQfdFD")

_BUSY_POLLS = 200
_PAUSE_S = 0.0005


def started_by_mpirun() -> bool:
    """Tell whether mpirun, or a launcher like it, started this process."""
    return any(name in os.environ for name in _SIZES)


def mpi_world(timeout: timedelta) -> MpiEngine:
    """Return the engine of all processes that mpirun started.

    Raises RuntimeError where mpi4py, or the MPI library it needs, is missing.
    """
    try:
        from mpi4py import MPI  # type: ignore[import-not-found] - late: it starts MPI
    except (ImportError, RuntimeError) as missing:
        error = RuntimeError(_errors.NO_MPI)
        error.add_note(_errors.INSTALL_MPI)
        raise error from missing
    _check_size(MPI.COMM_WORLD.Get_size())
    _abort_on_error(MPI)
    return MpiEngine(MPI, MPI.COMM_WORLD.Dup(), timeout)


def store_by_mpi(engine: MpiEngine, timeout: timedelta) -> Store:
    """Return a store that all processes of an engine share."""
    if engine.rank == 0:
        host = _own_address()
        master = TCPStore(host, 0, is_master=True, timeout=timeout)
        engine.from_first((host, master.port))
        return master
    host, port = engine.from_first(None)
    return TCPStore(host, port, timeout=timeout)


def _own_address() -> str:
    """Return the address of this machine, or that for itself if its name has none."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"


def _check_size(size: int) -> None:
    """Refuse a launcher of one MPI library beside mpi4py with another."""
    told = [int(os.environ[name]) for name in _SIZES if name in os.environ]
    if told and size not in told:
        raise RuntimeError(
            f"mpirun started {told[0]} processes, but mpi4py sees {size}: it uses "
            "another MPI library than mpirun. Use the mpirun of that library."
        )


def _abort_on_error(mpi: Any) -> None:
    """End all processes when one ends by an exception: they would wait for it."""
    previous = sys.excepthook

    def abort(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        previous(kind, error, trace)
        sys.stderr.flush()
        mpi.COMM_WORLD.Abort(1)

    if mpi.COMM_WORLD.Get_size() > 1:
        sys.excepthook = abort


class MpiEngine:
    """The engine of a communicator of mpi4py."""

    def __init__(self, mpi: Any, comm: Any, timeout: timedelta) -> None:
        self._mpi, self._comm = mpi, comm
        self.timeout_s = timeout.total_seconds()
        self.rank, self.size = int(comm.Get_rank()), int(comm.Get_size())

    @property
    def threads(self) -> bool:
        """Whether several threads may call MPI at once."""
        return self._mpi.Query_thread() == self._mpi.THREAD_MULTIPLE

    def all_reduce(self, array: Array, op: RedOpType) -> Array:
        if array.dtype.char not in _REDUCIBLE:
            return combine(op, self.all_gather(array))
        result = np.empty_like(array)
        self._do("all_reduce", self._comm.Iallreduce(array, result, self._op(op)))
        return result

    def reduce(self, array: Array, op: RedOpType, root: int) -> Array:
        if array.dtype.char not in _REDUCIBLE:
            parts = self.gather(array, root)
            return combine(op, parts) if parts else array
        result = np.empty_like(array) if self.rank == root else array
        into = result if self.rank == root else None
        self._do("reduce", self._comm.Ireduce(array, into, self._op(op), root))
        return result

    def broadcast(self, array: Array, root: int) -> Array:
        result = array if self.rank == root else np.empty_like(array)
        self._do("broadcast", self._comm.Ibcast(_bytes(result), root))
        return result

    def all_gather(self, array: Array) -> list[Array]:
        result = np.empty((self.size, array.size), array.dtype)
        self._do("all_gather", self._comm.Iallgather(_bytes(array), _bytes(result)))
        return list(result)

    def gather(self, array: Array, root: int) -> list[Array]:
        count = self.size if self.rank == root else 0
        result = np.empty((count, array.size), array.dtype)
        into = _bytes(result) if count else None
        self._do("gather", self._comm.Igather(_bytes(array), into, root))
        return list(result)

    def scatter(self, parts: Sequence[Array], like: Array, root: int) -> Array:
        whole = _bytes(np.concatenate(parts)) if self.rank == root else None
        result = np.empty_like(like)
        self._do("scatter", self._comm.Iscatter(whole, _bytes(result), root))
        return result

    def reduce_scatter(self, parts: Sequence[Array], op: RedOpType) -> Array:
        if parts[0].dtype.char not in _REDUCIBLE:
            return combine(op, self.all_to_all(parts, [parts[self.rank]] * self.size))
        result = np.empty_like(parts[self.rank])
        request = self._comm.Ireduce_scatter_block(
            np.concatenate(parts), result, self._op(op)
        )
        self._do("reduce_scatter", request)
        return result

    def all_to_all(self, parts: Sequence[Array], like: Sequence[Array]) -> list[Array]:
        result = np.empty(sum(part.size for part in like), parts[0].dtype)
        out = [_bytes(np.concatenate(parts)), [part.nbytes for part in parts]]
        into = [_bytes(result), [part.nbytes for part in like]]
        self._do("all_to_all", self._comm.Ialltoallv(out, into))
        return np.split(result, np.cumsum([part.size for part in like])[:-1])

    def barrier(self) -> None:
        self._do("barrier", self._comm.Ibarrier())

    def send(self, array: Array, peer: int, tag: int) -> Pending:
        request = self._comm.Isend(_bytes(array), peer, tag)
        return _Requested(self, request, "send", array, peer)

    def receive(self, like: Array, peer: int | None, tag: int) -> Pending:
        result = np.empty_like(like)
        source = self._mpi.ANY_SOURCE if peer is None else peer
        request = self._comm.Irecv(_bytes(result), source, tag)
        return _Requested(self, request, "recv", result, peer)

    def split(self, ranks: Sequence[int], number: int) -> MpiEngine | None:
        """Return an engine for some; only they take part in making it."""
        if self.rank not in ranks:
            return None
        group = self._comm.Get_group().Incl(list(ranks))
        comm = self._comm.Create_group(group, number % 2**15)
        return MpiEngine(self._mpi, comm, timedelta(seconds=self.timeout_s))

    def from_first(self, value: Any) -> Any:
        """Return the value of the process of rank 0."""
        return self._comm.bcast(value)

    def close(self) -> None:
        if not self._mpi.Is_finalized():
            self._comm.Free()

    def _op(self, op: RedOpType) -> Any:
        return getattr(self._mpi, _NAMES[op])

    def _do(self, doing: str, request: Any) -> None:
        _Requested(self, request, doing, None, None).result()


# MPI may still write to the arrays of calls that nobody waits for any more.
_given_up: list[_Requested] = []


class _Requested:
    """A call that began, and the array that it fills or sends."""

    def __init__(
        self, engine: MpiEngine, request: Any, doing: str, array: Any, peer: int | None
    ) -> None:
        self._engine, self._request, self._doing = engine, request, doing
        self._array, self._peer = array, peer
        self._status = engine._mpi.Status()
        self._over = False

    def done(self) -> bool:
        # Once it was over, MPI would forget who sent it.
        self._over = self._over or bool(self._request.Test(self._status))
        return self._over

    def result(self, timeout: float | None = None) -> tuple[Array, int]:
        limit = self._engine.timeout_s if timeout is None else timeout
        end = time.monotonic() + limit
        polls = 0
        while not self.done():
            polls += 1
            if polls > _BUSY_POLLS:
                self._check_time(end, limit)
                time.sleep(_PAUSE_S)
        if self._doing == "recv":
            self._check_length()
            return self._array, int(self._status.Get_source())
        return self._array, self._engine.rank

    def _check_time(self, end: float, limit: float) -> None:
        if time.monotonic() > end:
            _given_up.append(self)
            raise DistBackendError(
                _errors.TIMED_OUT.format(
                    ms=round(limit * 1000),
                    doing=self._doing,
                    rank=self._engine.rank,
                    peer="any" if self._peer is None else self._peer,
                )
            )

    def _check_length(self) -> None:
        got = int(self._status.Get_count(self._engine._mpi.BYTE))
        if got != self._array.nbytes:
            raise DistBackendError(
                _errors.WRONG_LENGTH.format(
                    rank=self._engine.rank,
                    want=self._array.nbytes,
                    peer=int(self._status.Get_source()),
                    got=got,
                )
            )


def _bytes(array: Array) -> Array:
    """Return the memory of an array, as MPI takes it whatever the type."""
    return array.reshape(-1).view(np.uint8)
