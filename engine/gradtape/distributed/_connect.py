"""From a store to connections: every process calls those of lower rank."""

from __future__ import annotations

import hmac
import json
import secrets
import socket
import struct
import time
from datetime import timedelta

from ._errors import DistNetworkError, DistStoreError
from ._mesh import Mesh
from ._store import PrefixStore, Store
from ._tcp_store import TCPStore, connect

__all__ = ["connect_all"]

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
