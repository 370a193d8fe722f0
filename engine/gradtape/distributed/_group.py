"""The processes that a collective is among: `ProcessGroup`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from .._tensor.tensor import Tensor
from ._engine import Array, Engine, flat
from ._nccl import NcclEngine
from ._store import Store
from ._work import Work, Worker

__all__ = ["Carrier", "ProcessGroup"]


class Carrier(NamedTuple):
    """An engine, and how it wants a tensor's elements."""

    engine: Engine
    on_host: bool

    def flat(self, tensor: Tensor) -> Array:
        """Return the elements of a tensor as the engine takes them."""
        return flat(tensor, self.on_host)


class ProcessGroup:
    """Some of the processes of a program, that talk with each other.

    Made by ``init_process_group`` and ``new_group``. ``ranks`` are those of its
    processes in the group of all.
    """

    __module__ = "torch.distributed"

    def __init__(
        self,
        engines: Mapping[str, Engine],
        ranks: list[int],
        group_name: str,
        backend: str,
        config: str,
        store: Store | None,
        timeout: timedelta,
        group_desc: str = "",
    ) -> None:
        self._engines = dict(engines)
        self.ranks = ranks
        self.group_name, self.group_desc = group_name, group_desc
        self.backend, self.config = backend, config
        self.store, self.timeout = store, timeout
        self._worker = Worker(f"collectives of group {group_name}")

    def rank(self) -> int:
        """Return the rank of this process in the group."""
        return self._any_engine().rank

    def size(self) -> int:
        """Return how many processes the group has."""
        return len(self.ranks)

    def name(self) -> str:
        """Return the name of the backend."""
        return self.backend

    def _any_engine(self) -> Engine:
        return next(iter(self._engines.values()))

    def carrier(self, tensor: Tensor | None = None) -> Carrier:
        """Return the engine for a tensor's device, or the first there is.

        Raises RuntimeError where the group has none for it.
        """
        if tensor is None:
            engine = self._engines.get("cpu") or self._any_engine()
        else:
            kind = tensor.device.type
            if kind not in self._engines:
                raise RuntimeError(
                    f"No backend type associated with device type {kind}"
                )
            engine = self._engines[kind]
        return Carrier(engine, not isinstance(engine, NcclEngine))

    def device_of_objects(self) -> str:
        """Return the type of device whose tensors carry objects: the CPU if it may."""
        return "cpu" if "cpu" in self._engines else next(iter(self._engines))

    def run(
        self, task: Callable[[], None], tensors: list[Any], async_op: bool
    ) -> Work | None:
        """Run a collective that fills ``tensors``: now, or meanwhile as a Work."""
        if not async_op:
            self._worker.run(task)
            return None
        return Work(self._worker.submit(task), tensors)

    def split(
        self, ranks: list[int], number: int, group_name: str, group_desc: str
    ) -> ProcessGroup | None:
        """Return a group of some of the processes; None where this is none of them."""
        found = {id(e): e.split(ranks, number) for e in set(self._engines.values())}
        engines = {d: found[id(e)] for d, e in self._engines.items()}
        mine = {device: e for device, e in engines.items() if e is not None}
        if not mine:
            return None
        members = [self.ranks[i] for i in ranks]
        named = (group_name, self.backend, self.config, self.store, self.timeout)
        return ProcessGroup(mine, members, *named, group_desc)

    def set_timeout(self, timeout: timedelta) -> None:
        """Say how long collectives of this group wait for other processes."""
        self.timeout = timeout
        for engine in self._engines.values():
            engine.timeout_s = timeout.total_seconds()

    def close(self) -> None:
        """Leave the group."""
        self._worker.close()
        for engine in set(self._engines.values()):
            engine.close()
