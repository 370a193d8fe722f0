"""The engine over NCCL, on stand-ins for CuPy and NCCL: what is asked of them."""

from __future__ import annotations

import ctypes
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest

import gradtape as gt
from gradtape import distributed as dist
from gradtape.distributed._nccl import nccl_world
from gradtape.distributed._reduce_op import combine

from .. import standin

TYPES = (
    *("int8", "uint8", "int32", "uint32", "int64", "uint64"),
    *("float16", "float32", "float64"),
)
REDUCTIONS = ("SUM", "PRODUCT", "MAX", "MIN")


def at(pointer: int, count: int, kind: int) -> Any:
    """Return the array that begins at an address."""
    dtype = np.dtype(TYPES[kind])
    memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(pointer)
    return np.frombuffer(memory, dtype)


class World:
    """Ranks in threads that wait for each other and then see what all brought."""

    worlds: ClassVar[dict[Any, World]] = {}
    lock = threading.Lock()

    def __init__(self, size: int) -> None:
        self.brought: list[Any] = [None] * size
        self.barrier = threading.Barrier(size, timeout=20)

    def meet(self, rank: int, mine: Any) -> list[Any]:
        self.brought[rank] = mine
        self.barrier.wait()
        found = list(self.brought)
        self.barrier.wait()
        return found


class Communicator:
    """``cupy.cuda.nccl.NcclCommunicator``, in the host's memory."""

    groups = threading.local()
    trouble = 0  # what check_async_error says

    def __init__(self, size: int, word: tuple[int, ...], rank: int) -> None:
        with World.lock:
            self.world = World.worlds.setdefault(word, World(size))
        self.rank, self.size = rank, size

    def _share(self, pointer: int, count: int, kind: int) -> list[Any]:
        return self.world.meet(self.rank, at(pointer, count, kind).copy())

    def allReduce(self, send, recv, count, kind, op, stream):  # noqa: N802
        parts = self._share(send, count, kind)
        at(recv, count, kind)[:] = combine(
            getattr(dist.ReduceOp, REDUCTIONS[op]), parts
        )

    def reduce(self, send, recv, count, kind, op, root, stream):
        parts = self._share(send, count, kind)
        if self.rank == root:
            how = getattr(dist.ReduceOp, REDUCTIONS[op])
            at(recv, count, kind)[:] = combine(how, parts)

    def bcast(self, buffer, count, kind, root, stream):
        at(buffer, count, kind)[:] = self._share(buffer, count, kind)[root]

    def allGather(self, send, recv, count, kind, stream):  # noqa: N802
        whole = np.concatenate(self._share(send, count, kind))
        at(recv, count * self.size, kind)[:] = whole

    def reduceScatter(self, send, recv, count, kind, op, stream):  # noqa: N802
        parts = self._share(send, count * self.size, kind)
        rows = [part.reshape(self.size, count)[self.rank] for part in parts]
        at(recv, count, kind)[:] = combine(getattr(dist.ReduceOp, REDUCTIONS[op]), rows)

    def send(self, buffer, count, kind, peer, stream):
        self.groups.calls[1].append((peer, at(buffer, count, kind).copy()))
        self.groups.calls[0] = self

    def recv(self, buffer, count, kind, peer, stream):
        self.groups.calls[2].append((peer, at(buffer, count, kind)))
        self.groups.calls[0] = self

    def check_async_error(self) -> int:
        return self.trouble

    def abort(self) -> None: ...

    def destroy(self) -> None: ...


def start_group() -> None:
    Communicator.groups.calls = [None, [], []]


def end_group() -> None:
    comm, sent, taken = Communicator.groups.calls
    if comm is None:
        return
    everyone = comm.world.meet(comm.rank, dict(sent))
    for peer, into in taken:
        into[:] = everyone[peer][comm.rank]


@pytest.fixture
def nccl(monkeypatch):
    """CuPy and its module of NCCL, as far as the engine asks for them."""
    standin.put_in_place(monkeypatch)
    module: Any = ModuleType("cupy.cuda.nccl")
    word = iter(range(1, 100))
    module.available = True
    module.get_unique_id = lambda: (next(word), 0, 5)
    module.NcclCommunicator = Communicator
    module.groupStart, module.groupEnd = start_group, end_group
    cuda = ModuleType("cupy.cuda")
    cuda.__dict__.update(vars(sys.modules["cupy"].cuda), nccl=module)
    monkeypatch.setattr(sys.modules["cupy"], "cuda", cuda)
    monkeypatch.setitem(sys.modules, "cupy.cuda", cuda)
    monkeypatch.setitem(sys.modules, "cupy.cuda.nccl", module)
    monkeypatch.setattr(World, "worlds", {})
    yield module
    standin.remove()


def in_threads(size: int, program: Any) -> list[Any]:
    """Run ``program(engine, cupy)`` as several ranks, in threads."""
    store, limit = dist.HashStore(), timedelta(seconds=20)

    def one(rank: int) -> Any:
        return program(nccl_world(store, rank, size, limit), sys.modules["cupy"])

    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(one, range(size)))


def collectives(engine: Any, cp: Any) -> Any:
    rank, size = engine.rank, engine.size
    x = cp.arange(3, dtype="float32") + 10 * rank
    op = dist.ReduceOp
    truth = cp.asarray([rank == 0, True])
    parts = [cp.asarray([rank, i]) for i in range(size)]
    sent = engine.send(x, 1, 0) if rank == 0 else engine.receive(x, 0, 0)
    found = [
        *(engine.all_reduce(x, op.SUM), engine.all_reduce(x, op.MIN)),
        *(engine.all_reduce(truth, op.SUM), engine.all_reduce(truth, op.PRODUCT)),
        *(engine.all_reduce(x.astype("complex64") * 1j, op.SUM),),
        *(engine.reduce(x, op.MAX, 1), engine.broadcast(x, 1)),
        *(*engine.all_gather(x), *engine.gather(x, 1)),
        *(engine.scatter(parts if rank == 0 else [], parts[0], 0),),
        *(engine.reduce_scatter(parts, op.SUM), *engine.all_to_all(parts, parts)),
        sent.result()[0],
    ]
    engine.barrier()
    half = engine.split([1], 3)
    assert (half is None) == (rank == 0)
    engine.close()
    return [each.get().tolist() for each in found]


def test_each_collective_gives_what_it_should(nccl):
    first, second = in_threads(2, collectives)
    gathered = [[0.0, 1.0, 2.0], [10.0, 11.0, 12.0]]
    both = [
        *([10.0, 12.0, 14.0], [0.0, 1.0, 2.0], [True, True], [False, True]),
        [10j, 12j, 14j],
    ]
    assert first == [
        *(*both, [0.0, 1.0, 2.0], gathered[1], *gathered, [0, 0]),
        *([1, 0], [0, 0], [1, 0], [0.0, 1.0, 2.0]),
    ]
    assert second == [
        *(*both, [10.0, 11.0, 12.0], gathered[1], *gathered, *gathered, [0, 1]),
        *([1, 2], [0, 1], [1, 1], [0.0, 1.0, 2.0]),
    ]


def test_what_nccl_cannot_do_is_refused(nccl):
    def program(engine: Any, cp: Any) -> None:
        with pytest.raises(RuntimeError, match=r"ReduceOp.BAND with NCCL"):
            engine.all_reduce(cp.zeros(1, "int32"), dist.ReduceOp.BAND)
        with pytest.raises(RuntimeError, match="does not reduce tensors of type int16"):
            engine.all_reduce(cp.zeros(1, "int16"), dist.ReduceOp.SUM)
        with pytest.raises(RuntimeError, match="give a rank"):
            engine.receive(cp.zeros(1), None, 0)

    in_threads(1, program)


def test_an_error_of_another_process_is_noticed(nccl, monkeypatch):
    def program(engine: Any, cp: Any) -> None:
        monkeypatch.setattr(cp.cuda.get_current_stream(), "done", False)
        monkeypatch.setattr(Communicator, "trouble", 6)
        with pytest.raises(dist.DistBackendError, match="another process failed"):
            engine.barrier()
        monkeypatch.setattr(Communicator, "trouble", 0)
        engine.timeout_s = 0.01
        with pytest.raises(dist.DistBackendError, match="its time was up"):
            engine.barrier()

    in_threads(1, program)


@pytest.mark.parametrize("backend", ["nccl", "gloo", "cpu:gloo,cuda:nccl"])
def test_cuda_tensors_are_reduced(nccl, backend):
    store = dist.HashStore()
    dist.init_process_group(backend, store=store, rank=0, world_size=1)
    try:
        x = gt.ones(2, device="cuda") * 3
        dist.all_reduce(x, dist.ReduceOp.AVG)
        assert (x.tolist(), x.device.type) == ([3.0, 3.0], "cuda")
        found = [gt.zeros(2, device="cuda")]
        dist.all_gather(found, x)
        assert found[0].tolist() == [3.0, 3.0]
        model = gt.nn.Linear(2, 1, bias=False).to("cuda")
        gt.nn.parallel.DistributedDataParallel(model, [0])(
            gt.ones(1, 2)
        ).sum().backward()
        assert model.weight.grad.tolist() == [[1.0, 1.0]]
        everything = [None]
        dist.all_gather_object(everything, {"a": 1})
        dist.broadcast_object_list(everything, 0)
        assert everything == [{"a": 1}]
        if backend == "nccl":
            with pytest.raises(RuntimeError, match="associated with device type cpu"):
                dist.all_reduce(gt.ones(1))
    finally:
        dist.destroy_process_group()
