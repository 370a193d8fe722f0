"""Messages between the processes of a program: one TCP connection for each pair.

Whatever arrives is taken in at once, by one thread for each connection, so a process
that sends never waits for another to receive. A message is addressed to a group and a
number in it (the turn of a collective, or a tag); of those to one address, the first
sent is the first received.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections import defaultdict, deque
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, NamedTuple

__all__ = ["Address", "Closed", "Mail", "Mesh", "Message"]

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
