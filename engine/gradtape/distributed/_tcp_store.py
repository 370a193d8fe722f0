"""A store that one process keeps and the others reach over TCP.

A request is one line of JSON, and so is its answer: nothing that comes in is executed.
Who sends anything else, or a line beyond all measure, is hung up on; the store goes on.
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import json
import math
import socket
import threading
import time
import weakref
from datetime import timedelta
from typing import Any

from ._errors import CONNECTION_CLOSED, DistNetworkError, DistStoreError
from ._store import Store, Table

__all__ = ["TCPStore", "connect", "listen"]

_RETRY_S = 0.05
_JOINED = "init/"

MOST_LINE = 64 << 20
"""Letters that a request or an answer may have."""
_TOO_LONG = "a request or answer of {:,} letters is more than a store takes ({:,})"
_NO_STORE = "what listens on ({}, {}) did not answer as a store does"


class TCPStore(Store):
    """A store in the process with ``is_master``, for all that know its address.

    The master listens on ``port``, or on a free one for 0, and with
    ``wait_for_workers`` waits until ``world_size`` processes have joined. Raises
    DistNetworkError where nobody listens there within ``timeout``, or the port is
    taken; DistStoreError where some process does not join.

    >>> store = TCPStore("127.0.0.1", 0, is_master=True)
    >>> store.add("visits", 2)
    2
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = timedelta(seconds=300),
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        super().__init__()
        self._timeout = timeout
        self._server: _Server | None = None
        if is_master:
            self._server = _server(host_name, port, multi_tenant, master_listen_fd)
            port = self._server.port
        self.host, self.port = host_name, port
        self._turn = threading.Lock()
        joined = self.join(timeout)
        if is_master and world_size and wait_for_workers:
            self._wait_for_workers(world_size, joined, timeout)

    def _wait_for_workers(self, count: int, joined: int, timeout: timedelta) -> None:
        end = time.monotonic() + timeout.total_seconds()
        while joined < count:
            if time.monotonic() > end:
                seconds = max(1, round(timeout.total_seconds()))
                raise DistStoreError(
                    f"Timed out after {seconds} seconds waiting for clients. "
                    f"{joined}/{count} clients joined."
                )
            time.sleep(_RETRY_S)
            joined = self.add(_JOINED, 0)

    def join(self, timeout: timedelta) -> int:
        """Connect, again where the server was replaced; return how many have so far."""
        end = time.monotonic() + timeout.total_seconds()
        while True:
            self._socket = connect(self.host, self.port, timeout)
            self._lines = self._socket.makefile("rw", encoding="utf-8", newline="\n")
            weakref.finalize(self._lines, self._socket.close)
            try:
                return self.add(_JOINED, 1)
            except DistNetworkError:  # it was on its way out
                if time.monotonic() > end:
                    raise

    def close(self) -> None:
        """Leave; when all stores of the master's process have, the server ends."""
        self._lines.close()
        self._socket.close()
        self._server = None

    @property
    def interface(self) -> str:
        """The address of this process as those see it who share the store."""
        return self._socket.getsockname()[0]

    def _do(self, action: str, keys: list[str], *more: Any) -> Any:
        return self._ask(None, action, keys, *more)

    def _wait(self, keys: list[str], seconds: float) -> bool:
        return self._ask(seconds, "wait", keys, seconds)

    def _ask(self, seconds: float | None, *request: Any) -> Any:
        """Send a request; the answer may take ``seconds`` longer than usual."""
        patience = self._timeout.total_seconds() + (seconds or 0.0) + 1.0
        text = json.dumps(request)
        if len(text) > MOST_LINE:
            raise ValueError(_TOO_LONG.format(len(text), MOST_LINE))
        try:
            with self._turn:
                self._socket.settimeout(patience)
                self._lines.write(text + "\n")
                self._lines.flush()
                line = self._lines.readline(MOST_LINE + 1)
            if not line:
                raise DistNetworkError(CONNECTION_CLOSED)
            value, complaint = json.loads(line)
        except OSError as error:
            raise DistNetworkError(error.strerror or str(error)) from None
        except (ValueError, TypeError, RecursionError):
            raise DistNetworkError(_NO_STORE.format(self.host, self.port)) from None
        if complaint is not None:
            raise ValueError(complaint)
        return value

    def _late(self, keys: list[str], timeout: timedelta) -> str:
        ms = round(timeout.total_seconds() * 1000)
        return f"wait timeout after {ms}ms, keys: {', '.join('/' + k for k in keys)}"

    def __repr__(self) -> str:
        here = "<nullptr>" if self._server is None else f"TCPServer(port={self.port})"
        return f"TCPStore(client={self.host}:{self.port}, server={here})"


# ---- the process that keeps the values ----------------------------------------------

_servers: weakref.WeakValueDictionary[int, _Server] = weakref.WeakValueDictionary()


def _server(host: str, port: int, shared: bool, descriptor: int | None) -> _Server:
    """Start a server; where several stores of a process may share one, find it."""
    found = _servers.get(port) if shared and port else None
    if found is None:
        if descriptor is not None:
            found = _Server(socket.socket(fileno=descriptor))
        else:
            found = _Server(listen(host, port))
        _servers[found.port] = found
    return found


class _Server:
    """Answers in threads of its own until the last store of its process is gone."""

    def __init__(self, listener: socket.socket) -> None:
        self.port = int(listener.getsockname()[1])
        sockets = _Sockets(listener)
        weakref.finalize(self, sockets.close)
        args = (listener, sockets, Table())
        threading.Thread(target=_accept, args=args, daemon=True).start()


class _Sockets:
    """A listener and whom it let in. They end together, also who comes just then."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener, self._clients = listener, set[socket.socket]()
        self._ended = False

    def add(self, client: socket.socket) -> bool:
        """Take a client in; tell whether it may stay."""
        self._clients.add(client)  # first: then either this or `close` sees the other
        return not self._ended

    def discard(self, client: socket.socket) -> None:
        self._clients.discard(client)
        client.close()

    def close(self) -> None:
        self._ended = True
        for each in (self._listener, *self._clients):
            with contextlib.suppress(OSError):  # one closed, or of another system
                each.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads from it
        self._listener.close()


def _accept(listener: socket.socket, sockets: _Sockets, table: Table) -> None:
    while True:
        try:
            client, _ = listener.accept()
        except OSError as error:
            if error.errno not in _PASSING:
                return
            time.sleep(_RETRY_S)
            continue
        if not sockets.add(client):
            sockets.discard(client)
            return
        args = (client, sockets, table)
        try:
            threading.Thread(target=_serve, args=args, daemon=True).start()
        except RuntimeError:  # no thread is left for this one
            sockets.discard(client)


_PASSING = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.ECONNABORTED)
"""What keeps a listener from accepting one connection, but not the next."""


def _serve(client: socket.socket, sockets: _Sockets, table: Table) -> None:
    try:
        with client.makefile("rw", encoding="utf-8", newline="\n") as lines:
            while (line := lines.readline(MOST_LINE + 1)).endswith("\n"):
                text = json.dumps(_answer(table, line))
                if len(text) > MOST_LINE:
                    said = _TOO_LONG.format(len(text), MOST_LINE)
                    text = json.dumps((None, said))
                lines.write(text + "\n")
                lines.flush()
    except (OSError, ValueError, RecursionError, MemoryError):
        pass  # the client is gone, or none of ours
    finally:
        sockets.discard(client)


def _answer(table: Table, line: str) -> tuple[Any, str | None]:
    """Return what was asked for, and what is wrong with it.

    Raises ValueError for what is no request.
    """
    action, keys, more = _request(line)
    try:
        if action == "wait":
            return table.wait(keys, min(*more, threading.TIMEOUT_MAX)), None
        return table.do(action, keys, *more), None
    except (ValueError, OverflowError) as error:
        return None, str(error)


def _request(line: str) -> tuple[str, list[str], list[Any]]:
    match json.loads(line):
        case [str(action), list(keys), *more] if action in _ASKED:
            many, kinds = _ASKED[action]
            fits = len(more) == len(kinds) and all(map(isinstance, more, kinds))
            texts = all(isinstance(key, str) for key in keys)
            if fits and texts and (many or len(keys) == 1):
                return action, keys, more
        case _:
            pass
    raise ValueError("no request")


_ASKED: dict[str, tuple[bool, tuple[Any, ...]]] = {
    "set": (False, (str,)),
    "get": (False, ()),
    "add": (False, (int,)),
    "append": (False, (str,)),
    "compare_set": (False, (str, str)),
    "delete": (False, ()),
    "check": (True, ()),
    "keys": (True, ()),
    "wait": (True, (int | float,)),
}
"""For each action: whether it takes any number of keys, and the types of the rest."""


# ---- addresses ----------------------------------------------------------------------


def listen(host: str, port: int) -> socket.socket:
    """Listen on a port: of this machine alone where ``host`` names just it."""
    family, address = _bind_address(host)
    try:
        return socket.create_server((address, port), family=family, backlog=128)
    except OSError as error:
        raise DistNetworkError(
            "The server socket has failed to listen on any local network address. "
            f"port: {port}, useIpv6: {str(family == socket.AF_INET6).lower()}, "
            f"code: {-(error.errno or 0)}, message: {error.strerror}"
        ) from None


def _bind_address(host: str) -> tuple[socket.AddressFamily, str]:
    try:
        family, *_, address = socket.getaddrinfo(host, None)[0]
    except OSError:
        return socket.AF_INET, ""
    found = ipaddress.ip_address(str(address[0]).partition("%")[0])
    return family, str(found) if found.is_loopback else ""


_ITSELF = "the system gave the caller the port that it called"


def connect(host: str, port: int, timeout: timedelta) -> socket.socket:
    """Connect, as soon as somebody listens there."""
    seconds = timeout.total_seconds()
    end = time.monotonic() + seconds
    while True:
        left = max(0.01, end - time.monotonic())
        try:
            found = socket.create_connection((host, port), min(left, 10.0))
            if found.getsockname() == found.getpeername():  # where nobody listens yet
                found.close()
                raise ConnectionRefusedError(errno.ECONNREFUSED, _ITSELF)
            break
        except OSError as error:
            if time.monotonic() + _RETRY_S > end:
                raise DistNetworkError(
                    f"The client socket has timed out after {math.ceil(seconds * 1000)}"
                    f"ms while trying to connect to ({host}, {port})."
                ) from error
            time.sleep(_RETRY_S)
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found
