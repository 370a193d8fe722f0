"""Making the group of all processes: how they meet, and which engines they get."""

from __future__ import annotations

import hmac
import json
import os
import secrets
import socket
import struct
import time
from datetime import timedelta
from typing import Any

from . import _errors
from ._backends import Backend, BackendConfig
from ._engine import Engine
from ._errors import DistNetworkError, DistStoreError
from ._group import ProcessGroup
from ._mesh_engine import Mesh, MeshEngine
from ._mpi import mpi_world, started_by_mpirun, store_by_mpi
from ._nccl import nccl_library, nccl_world
from ._store import PrefixStore, Store
from ._tcp_store import TCPStore, connect
from ._world import checked_timeout, is_initialized, set_default
from .rendezvous import rendezvous


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


# ---- from a store to connections: every process calls those of lower rank ----

_HELLO = struct.Struct("<32sQ")  # the word of the group, the rank of who calls
_RETRY_S = 30.0
_LOOPBACK = "127.0.0.1"


def connect_all(store: Store, rank: int, size: int, timeout: timedelta) -> Mesh:
    """Connect ``size`` processes that share a store, each with each.

    They show each other a word that only the store could tell them. Raises
    DistStoreError or DistNetworkError where some do not come in time.
    """
    if size == 1:
        return Mesh(rank, size, {})
    host = str(getattr(_base(store), "interface", _LOOPBACK))
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family, backlog=size) as listener:
        word = _word(store, rank)
        store.set(f"address/{rank}", json.dumps([host, listener.getsockname()[1]]))
        sockets = {
            peer: _call(store, peer, rank, word, timeout) for peer in range(rank)
        }
        sockets |= _answer(listener, set(range(rank + 1, size)), word, timeout)
    _forget(store, size)
    return Mesh(rank, size, sockets)


def _base(store: Store) -> Store:
    while isinstance(store, PrefixStore):
        store = store.underlying_store
    return store


def _word(store: Store, rank: int) -> bytes:
    """Return the word of the group, which the process of rank 0 chooses.

    The server of a group that ended just now may still answer, but knows no word, and
    goes away: then the next one is asked.
    """
    if rank == 0:
        store.set("word", secrets.token_hex(16))
    end = time.monotonic() + _RETRY_S
    while True:
        try:
            return store.get("word")
        except DistNetworkError:
            base = _base(store)
            if not isinstance(base, TCPStore) or time.monotonic() > end:
                raise
            base.join(timedelta(seconds=_RETRY_S))


def _forget(store: Store, size: int) -> None:
    """Take back what only this start needed, when all are through with it."""
    if store.add("connected", 1) == size:
        for key in ("word", "connected", *(f"address/{i}" for i in range(size))):
            store.delete_key(key)


def _call(
    store: Store, peer: int, rank: int, word: bytes, timeout: timedelta
) -> socket.socket:
    host, port = json.loads(store.get(f"address/{peer}"))
    connection = connect(host, port, timeout)
    connection.sendall(_HELLO.pack(word, rank))
    return connection


def _answer(
    listener: socket.socket, expected: set[int], word: bytes, timeout: timedelta
) -> dict[int, socket.socket]:
    found: dict[int, socket.socket] = {}
    end = time.monotonic() + timeout.total_seconds()
    while expected:
        listener.settimeout(max(0.01, end - time.monotonic()))
        try:
            connection, _ = listener.accept()
            caller = _caller(connection, word)
        except TimeoutError:
            raise DistStoreError(
                f"Timed out waiting {timeout} for the processes of rank "
                f"{', '.join(map(str, sorted(expected)))} to join the group"
            ) from None
        if caller in expected:
            expected.remove(caller)
            found[caller] = connection
        else:
            connection.close()  # nobody of ours
    return found


def _caller(connection: socket.socket, word: bytes) -> int:
    """Return the rank that a caller says, or -1 for one who does not know the word."""
    connection.settimeout(5.0)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    hello = b""
    try:
        while len(hello) < _HELLO.size:
            more = connection.recv(_HELLO.size - len(hello))
            if not more:
                return -1
            hello += more
    except OSError:
        return -1
    said, rank = _HELLO.unpack(hello)
    return rank if hmac.compare_digest(said, word) else -1
