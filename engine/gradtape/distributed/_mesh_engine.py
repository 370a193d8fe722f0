"""Collectives on CPU arrays, made of messages between each pair of processes.

All are exchanges in which every process sends what others need and takes what they
send. Reductions go by rank, so all processes compute the same to the last bit.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from datetime import timedelta
from typing import Any, NamedTuple

import numpy as np

from . import _errors
from ._engine import Array, Pending
from ._errors import DistBackendError
from ._reduce_op import RedOpType, combine

# ---- messages: one TCP connection for each pair of processes ----

_HEADER = struct.Struct("<QqIQ")  # group, number, bytes of the note, bytes of the data


class Address(NamedTuple):
    """What a message is for: a turn of a group, or a tag in it."""

    group: int
    number: int


class Message(NamedTuple):
    """What came: from whom, what the sender was doing, and the data."""

    source: int
    note: str
    data: bytearray


Mail = Future[Message]


class Closed(Exception):  # noqa: N818 - says what has become of the connection
    """The process at the other end is gone."""

    def __init__(self, peer: int) -> None:
        super().__init__(peer)
        self.peer = peer


class Mesh:
    """The connections of one process to all others, by rank."""

    def __init__(
        self, rank: int, size: int, sockets: Mapping[int, socket.socket]
    ) -> None:
        self.rank, self.size = rank, size
        self._sockets = dict(sockets)
        self._turns = {peer: threading.Lock() for peer in sockets}
        self._lock = threading.Lock()
        self._waiting: dict[tuple[int, Address], deque[Mail]] = defaultdict(deque)
        self._arrived: dict[tuple[int, Address], deque[Message]] = defaultdict(deque)
        self._gone: set[int] = set()
        for peer, connection in self._sockets.items():
            connection.settimeout(None)
            args = (peer, connection)
            name = f"messages of rank {peer}"
            threading.Thread(
                target=self._listen, args=args, name=name, daemon=True
            ).start()

    def send(self, peer: int, address: Address, note: str, data: Any) -> None:
        """Send bytes. Raises Closed where the other process is gone."""
        text = note.encode()
        header = _HEADER.pack(*address, len(text), len(data))
        connection = self._sockets[peer]
        try:
            with self._turns[peer]:
                connection.sendall(header + text)
                connection.sendall(data)
        except OSError:
            raise Closed(peer) from None

    def post(self, peer: int, address: Address) -> Mail:
        """Ask for the next message of a process to an address, and do not wait."""
        mail: Mail = Future()
        with self._lock:
            if arrived := self._take(peer, address):
                mail.set_result(arrived)
            elif peer in self._gone:
                mail.set_exception(Closed(peer))
            else:
                self._waiting[peer, address].append(mail)
        return mail

    def post_any(self, address: Address, peers: list[int]) -> Mail:
        """Ask for the next message to an address, whoever of these sends it."""
        mail: Mail = Future()
        with self._lock:
            for peer in peers:
                if arrived := self._take(peer, address):
                    mail.set_result(arrived)
                    return mail
            if self._gone.issuperset(peers):
                mail.set_exception(Closed(peers[0] if peers else self.rank))
                return mail
            for peer in peers:
                self._waiting[peer, address].append(mail)
        return mail

    def _take(self, peer: int, address: Address) -> Message | None:
        return _first(self._arrived, (peer, address))

    def close(self) -> None:
        """End all connections; the other processes see that this one is gone."""
        for connection in self._sockets.values():
            with contextlib.suppress(OSError):  # where the other was faster
                connection.shutdown(socket.SHUT_RDWR)  # also ends the thread
            connection.close()

    # ---- what the threads do --------------------------------------------------------

    def _listen(self, peer: int, connection: socket.socket) -> None:
        try:
            while True:
                group, number, noted, length = _HEADER.unpack(
                    _read(connection, _HEADER.size)
                )
                note = _read(connection, noted).decode()
                message = Message(peer, note, _read(connection, length))
                self._deliver(peer, Address(group, number), message)
        except OSError:
            self._lost(peer)

    def _deliver(self, peer: int, address: Address, message: Message) -> None:
        with self._lock:
            # One that any process may answer waits in several places: skip it where
            # it has its answer.
            while mail := _first(self._waiting, (peer, address)):
                if not mail.done():
                    mail.set_result(message)
                    return
            self._arrived[peer, address].append(message)

    def _lost(self, peer: int) -> None:
        with self._lock:
            self._gone.add(peer)
            for (source, address), mails in list(self._waiting.items()):
                if source == peer:
                    del self._waiting[source, address]
                    self._disappoint(peer, mails)

    def _disappoint(self, peer: int, mails: deque[Mail]) -> None:
        still_waiting = {id(m) for queue in self._waiting.values() for m in queue}
        for mail in mails:
            if not mail.done() and id(mail) not in still_waiting:
                mail.set_exception(Closed(peer))


def _first(queues: dict[Any, deque[Any]], key: Any) -> Any:
    """Take the first of a queue, if there is one; keep no empty queues."""
    queue = queues.get(key)
    if not queue:
        return None
    found = queue.popleft()
    if not queue:
        del queues[key]
    return found


def _read(connection: socket.socket, length: int) -> bytearray:
    data = bytearray(length)
    rest = memoryview(data)
    while rest:
        count = connection.recv_into(rest)
        if not count:
            raise ConnectionResetError("the other process ended")
        rest = rest[count:]
    return data


# ---- collectives on CPU arrays, made of messages between each pair of processes ----

# Below, sending everything to everyone is faster than two rounds of smaller messages.
_SMALL_BYTES = 32_768
# Tags are numbers below the turns of collectives, so that neither takes the other's.
_FIRST_TAG = -(2**62)


class MeshEngine:
    """The engine of a group of processes that a :class:`Mesh` connects."""

    def __init__(
        self, mesh: Mesh, ranks: Sequence[int], number: int, timeout: timedelta
    ) -> None:
        self._mesh, self._ranks, self._number = mesh, list(ranks), number
        self.timeout_s = timeout.total_seconds()
        self._turn = 0
        self.rank, self.size = self._ranks.index(mesh.rank), len(self._ranks)
        self._others = [i for i in range(self.size) if i != self.rank]

    def all_reduce(self, array: Array, op: RedOpType) -> Array:
        if self.size == 1:
            return array
        if array.nbytes <= _SMALL_BYTES:
            return combine(op, self._everyone("all_reduce", array))
        # Each reduces one part for all: none sends or receives more than twice all.
        parts = np.array_split(array, self.size)
        like = [parts[self.rank]] * self.size
        mine = combine(op, self._swap("all_reduce", parts, like))
        out = dict.fromkeys(self._others, mine)
        found = self._exchange("all_reduce", out, {i: parts[i] for i in self._others})
        return np.concatenate([found.get(i, mine) for i in range(self.size)])

    def reduce(self, array: Array, op: RedOpType, root: int) -> Array:
        parts = self._collect("reduce", array, root)
        return combine(op, parts) if parts else array

    def broadcast(self, array: Array, root: int) -> Array:
        return self._hand_out("broadcast", [array] * self.size, array, root)

    def all_gather(self, array: Array) -> list[Array]:
        return self._everyone("all_gather", array)

    def gather(self, array: Array, root: int) -> list[Array]:
        return self._collect("gather", array, root)

    def scatter(self, parts: Sequence[Array], like: Array, root: int) -> Array:
        return self._hand_out("scatter", parts, like, root)

    def reduce_scatter(self, parts: Sequence[Array], op: RedOpType) -> Array:
        like = [parts[self.rank]] * self.size
        return combine(op, self._swap("reduce_scatter", parts, like))

    def all_to_all(self, parts: Sequence[Array], like: Sequence[Array]) -> list[Array]:
        return self._swap("all_to_all", parts, like)

    def barrier(self) -> None:
        self._everyone("barrier", np.empty(0, np.uint8))

    def send(self, array: Array, peer: int, tag: int) -> Pending:
        mail: Mail = Mail()
        try:
            target, data = self._ranks[peer], array.view(np.uint8).data
            self._mesh.send(target, self._tagged(tag), "", data)
        except Closed as closed:
            mail.set_exception(self._gone(closed, "send"))
        else:
            mail.set_result(Message(self.rank, "", bytearray()))
        return mail

    def receive(self, like: Array, peer: int | None, tag: int) -> Pending:
        if peer is None:
            others = [self._ranks[i] for i in self._others]
            mail = self._mesh.post_any(self._tagged(tag), others)
        else:
            mail = self._mesh.post(self._ranks[peer], self._tagged(tag))
        return _Received(self, mail, like, peer)

    def split(self, ranks: Sequence[int], number: int) -> MeshEngine | None:
        """Return an engine for some of the processes, on the same connections."""
        members = [self._ranks[i] for i in ranks]
        if self._mesh.rank not in members:
            return None
        timeout = timedelta(seconds=self.timeout_s)
        return MeshEngine(self._mesh, members, number, timeout)

    def close(self) -> None:
        if self._number == 0:  # the connections belong to the group of all
            self._mesh.close()

    # ---- exchanges ------------------------------------------------------------------

    def _collect(self, doing: str, array: Array, root: int) -> list[Array]:
        if self.rank != root:
            self._exchange(doing, {root: array}, {})
            return []
        found = self._exchange(doing, {}, dict.fromkeys(self._others, array))
        return [found.get(i, array) for i in range(self.size)]

    def _hand_out(
        self, doing: str, parts: Sequence[Array], like: Array, root: int
    ) -> Array:
        if self.rank != root:
            return self._exchange(doing, {}, {root: like})[root]
        self._exchange(doing, {i: parts[i] for i in self._others}, {})
        return parts[root]

    def _everyone(self, doing: str, array: Array) -> list[Array]:
        """Return the arrays of all, this process's own among them."""
        whole = dict.fromkeys(self._others, array)
        found = self._exchange(doing, whole, whole)
        return [found.get(i, array) for i in range(self.size)]

    def _swap(
        self, doing: str, parts: Sequence[Array], like: Sequence[Array]
    ) -> list[Array]:
        out = {i: parts[i] for i in self._others}
        found = self._exchange(doing, out, {i: like[i] for i in self._others})
        return [found.get(i, parts[i]) for i in range(self.size)]

    def _exchange(
        self, doing: str, out: Mapping[int, Array], like: Mapping[int, Array]
    ) -> dict[int, Array]:
        """Send to some and take from some, as one turn of the group."""
        self._turn += 1
        address = Address(self._number, self._turn)
        end = time.monotonic() + self.timeout_s
        mails = {i: self._mesh.post(self._ranks[i], address) for i in like}
        try:
            for i, array in out.items():
                data = array.view(np.uint8).data
                note = _describe(doing, array)
                self._mesh.send(self._ranks[i], address, note, data)
            found: dict[int, Array] = {}
            for i, mail in mails.items():
                message = self._wait(mail, end, doing, i)
                ours = _describe(doing, like[i])
                if message.note != ours:
                    self._tell(address, ours, set(self._others) - set(out))
                    raise self._out_of_step(message, ours)
                found[i] = _array(message.data, like[i])
            return found
        except Closed as closed:
            raise self._gone(closed, doing) from None
        finally:
            for mail in mails.values():
                mail.cancel()  # after a failure: what comes late is for nobody

    def _wait(self, mail: Mail, end: float, doing: str, peer: int | None) -> Message:
        try:
            return mail.result(max(0.0, end - time.monotonic()))
        except TimeoutError:
            sentence = _errors.TIMED_OUT.format(
                ms=round(self.timeout_s * 1000),
                doing=doing,
                rank=self._mesh.rank,
                peer="any" if peer is None else self._ranks[peer],
            )
            raise DistBackendError(sentence) from None

    def _tell(self, address: Address, ours: str, peers: set[int]) -> None:
        """Let those who may wait for this process see that it does something else."""
        for i in peers:
            self._mesh.send(self._ranks[i], address, ours, b"")

    def _out_of_step(self, message: Message, ours: str) -> DistBackendError:
        return DistBackendError(
            _errors.OUT_OF_STEP.format(
                peer=message.source,
                theirs=message.note,
                rank=self._mesh.rank,
                ours=ours,
            )
        )

    def _gone(self, closed: Closed, doing: str) -> DistBackendError:
        return DistBackendError(
            _errors.PEER_GONE.format(
                peer=closed.peer, rank=self._mesh.rank, doing=doing
            )
        )

    def _tagged(self, tag: int) -> Address:
        return Address(self._number, _FIRST_TAG + tag)


class _Received:
    """A message to one tag that is waited for."""

    def __init__(
        self, engine: MeshEngine, mail: Mail, like: Array, peer: int | None
    ) -> None:
        self._engine, self._mail, self._like, self._peer = engine, mail, like, peer

    def done(self) -> bool:
        return self._mail.done()

    def result(self, timeout: float | None = None) -> tuple[Array, int]:
        engine, like = self._engine, self._like
        limit = engine.timeout_s if timeout is None else timeout
        try:
            end = time.monotonic() + limit
            message = engine._wait(self._mail, end, "recv", self._peer)
        except Closed as closed:
            raise engine._gone(closed, "recv") from None
        if len(message.data) != like.nbytes:
            raise DistBackendError(
                _errors.WRONG_LENGTH.format(
                    rank=engine._mesh.rank,
                    want=like.nbytes,
                    peer=message.source,
                    got=len(message.data),
                )
            )
        return _array(message.data, like), engine._ranks.index(message.source)


def _describe(doing: str, array: Array) -> str:
    return f"{doing} of {array.dtype.name}[{array.size}]"


def _array(data: bytearray, like: Any) -> Array:
    return np.frombuffer(data, np.uint8).view(like.dtype)
