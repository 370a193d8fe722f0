"""Making the group of all processes: how they meet, and which engines they get."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

from . import _errors
from ._backends import Backend, BackendConfig
from ._connect import connect_all
from ._engine import Engine
from ._group import ProcessGroup
from ._mesh_engine import MeshEngine
from ._mpi import mpi_world, started_by_mpirun, store_by_mpi
from ._nccl import nccl_library, nccl_world
from ._store import PrefixStore, Store
from ._world import checked_timeout, is_initialized, set_default
from .rendezvous import rendezvous

__all__ = ["init_process_group"]


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Make the group of all processes of the program.

    They meet at ``init_method``: ``env://`` (the default) reads MASTER_ADDR,
    MASTER_PORT, RANK and WORLD_SIZE, as torchrun and ``gradtape.distributed.run`` set
    them; ``tcp://host:port`` and ``file:///path`` need ``rank`` and ``world_size``; or
    in ``store``. Where mpirun started the processes, and none of that is said, MPI
    tells. One process needs neither. Nobody is waited for longer than ``timeout``.

    Raises ValueError where something is missing or the group exists, RuntimeError
    where a backend cannot be used, DistError where some process does not come.
    """
    if is_initialized():
        raise ValueError(_errors.TWICE)
    name = Backend(backend) if backend else Backend(Backend.UNDEFINED)
    limit = checked_timeout(timeout, name)
    own_store = None
    if store is not None:
        _check_store(init_method, rank, world_size)
    if _is_told_by_mpi(name, init_method, rank, world_size, store):
        store = None
    elif store is None:
        store, rank, world_size = next(
            rendezvous(init_method or "env://", rank, world_size, timeout=limit)
        )
        own_store = store
    config = BackendConfig(name)
    devices = config.get_device_backend_map()
    engines = _engines(devices, store, rank, world_size, limit)
    size = next(iter(engines.values())).size
    named = (group_name or "0", name, str(config), store, limit, "default_pg")
    set_default(ProcessGroup(engines, list(range(size)), *named), own_store)


def _check_store(init_method: str | None, rank: int, world_size: int) -> None:
    """Refuse what PyTorch refuses to be told beside a store."""
    if init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    if world_size <= 0:
        raise AssertionError("world_size must be positive if using store")
    if rank < 0:
        raise AssertionError("rank must be non-negative if using store")


def _is_told_by_mpi(
    backend: str, init_method: str | None, rank: int, size: int, store: Store | None
) -> bool:
    """Tell whether MPI knows the rank of this process, and nobody else says it."""
    if backend == Backend.MPI:
        return True
    given = store is not None or (rank, size) != (-1, -1)
    elsewhere = init_method not in (None, "env://") or "RANK" in os.environ
    return not given and not elsewhere and started_by_mpirun()


def _engines(
    devices: dict[str, str],
    store: Store | None,
    rank: int,
    size: int,
    timeout: timedelta,
) -> dict[str, Engine]:
    """Return an engine for each type of device; some serve several."""
    if Backend.NCCL in devices.values():
        nccl_library()  # before anybody is waited for
    found: dict[str, Engine] = {}
    if store is None:
        mpi = mpi_world(timeout)
        found[Backend.GLOO] = found[Backend.MPI] = mpi
        rank, size = mpi.rank, mpi.size
        if Backend.NCCL in devices.values():
            store = store_by_mpi(mpi, timeout)
    elif any(name != Backend.NCCL for name in devices.values()):
        mesh = connect_all(PrefixStore("mesh", store), rank, size, timeout)
        found[Backend.GLOO] = MeshEngine(mesh, range(size), 0, timeout)
    if Backend.NCCL in devices.values():
        assert store is not None
        found[Backend.NCCL] = nccl_world(store, rank, size, timeout)
    for name in devices.values():
        if name not in found:
            raise AssertionError(_errors.UNKNOWN_BACKEND.format(name.upper()))
    return {device: found[name] for device, name in devices.items()}
