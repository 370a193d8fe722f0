"""Messages between the loader and its workers; the memory of arrays goes beside them.

A message is pickled where it is sent, so that what cannot be pickled is noticed there.
Large arrays are kept out of the pickle. Where the system has memory without a name
(``memfd_create``, on Linux) they are copied there and only its descriptor is sent;
nothing is left behind when a process is killed.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import queue
import threading
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

from ...._tensor.tensor import Tensor, wrap
from ....ops.memory.memory_format import strided

# Below this, a copy through the pipe is faster than making memory to share.
_APART = 64 * 1024
_HAS_MEMORY_FILES = hasattr(os, "memfd_create")

_NON_LEAF = (
    "Cowardly refusing to serialize non-leaf tensor which requires_grad, since "
    "autograd does not support crossing process boundaries.  If you just want to "
    "transfer the data, call detach() on the tensor before serializing (e.g., putting "
    "it on the queue)."
)


class Message(NamedTuple):
    """A pickled value, and the sizes of the arrays that lie in the file ``memory``."""

    text: bytes
    sizes: list[int]
    memory: int | None


# ---- tensors ----


def _reduced(tensor: Tensor) -> tuple[Any, ...]:
    """Pickle a tensor by the values it shows, not by all of its memory."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(_NON_LEAF)
    data: Any = tensor._data
    if not isinstance(data, np.ndarray) or tensor.layout is not strided:
        whole: Any = tensor.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
        return whole
    axes = tensor.dim_order()
    dense = np.require(data.transpose(axes), requirements=["C", "W"])
    flat: Any = dense.reshape(-1).view(np.uint8)
    facts = (tensor.dtype, dense.shape, axes, tensor.requires_grad, tensor.__dict__)
    return _rebuilt, (pickle.PickleBuffer(flat), *facts)


def _rebuilt(
    memory: Any,
    dtype: Any,
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    requires_grad: bool,
    attributes: dict[str, Any],
) -> Tensor:
    back = np.argsort(axes)
    array = np.ndarray(shape, dtype.numpy, memory).transpose(tuple(back))
    tensor = wrap(array)
    tensor.share_memory_()  # PyTorch's say so, and nobody else writes here
    if requires_grad:
        tensor.requires_grad_()
    tensor.__dict__.update(attributes)
    return tensor


# ---- messages ----


class _Pickler(reduction.ForkingPickler):
    """Pickles for another process of this program, large arrays apart."""

    def __init__(self, file: io.BytesIO, apart: list[memoryview]) -> None:
        def keeps_inside(buffer: pickle.PickleBuffer) -> bool:
            memory = buffer.raw()
            inside = not _HAS_MEMORY_FILES or memory.nbytes < _APART
            if not inside:
                apart.append(memory)
            return inside

        super().__init__(file, 5, True, keeps_inside)  # type: ignore[call-arg] - takes what Pickler takes
        self.dispatch_table[Tensor] = _reduced  # type: ignore[index] - its own copy


def packed(value: Any) -> Message:
    """Pickle a value for :class:`Sender`."""
    file = io.BytesIO()
    apart: list[memoryview] = []
    _Pickler(file, apart).dump(value)
    sizes = [memory.nbytes for memory in apart]
    return Message(file.getvalue(), sizes, _written(apart) if apart else None)


def _written(parts: list[memoryview]) -> int:
    """Copy arrays into new memory; return its descriptor."""
    memory = os.memfd_create("gradtape")
    try:
        for part in parts:
            while part.nbytes:  # one call writes 2 GB at most
                part = part[os.write(memory, part) :]
    except OSError:
        os.close(memory)
        raise
    return memory


def _read(memory: int, sizes: list[int]) -> list[Any]:
    """Copy arrays out of memory; return their bytes, which may be written."""
    found: list[Any] = [np.empty(size, np.uint8) for size in sizes]
    position = 0
    for array in found:
        part = memoryview(array)
        while part.nbytes:
            count = os.preadv(memory, [part], position)
            if not count:
                raise EOFError
            part, position = part[count:], position + count
    return found


def receive(connection: Connection) -> Any:
    """Return the next value that a :class:`Sender` sent; EOFError where it is gone."""
    text, sizes = connection.recv()
    if not sizes:
        return pickle.loads(text)
    memory = reduction.recv_handle(connection)
    try:
        buffers = _read(memory, sizes)
    finally:
        os.close(memory)
    return pickle.loads(text, buffers=buffers)


class Sender:
    """Sends messages in a thread of its own, so that work goes on meanwhile."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._waiting: queue.SimpleQueue[Message] = queue.SimpleQueue()
        threading.Thread(target=self._run, daemon=True).start()

    def put(self, message: Message) -> None:
        """Send a message soon."""
        self._waiting.put(message)

    def _run(self) -> None:
        with contextlib.suppress(OSError):  # the reader is gone
            while True:
                self._send(self._waiting.get())

    def _send(self, message: Message) -> None:
        self._connection.send((message.text, message.sizes))
        if message.memory is not None:
            reduction.send_handle(self._connection, message.memory, os.getppid())
            os.close(message.memory)
