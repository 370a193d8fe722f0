"""What carries values between the processes of a group: the interface of engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from .._backend import backend_of
from .._dispatch.inplace import note_write
from .._tensor.tensor import Tensor
from ._reduce_op import RedOpType

Array = Any
"""A contiguous array of one dimension, of the library that the engine works on."""


class Pending(Protocol):
    """Something that began and will be over: a `concurrent.futures.Future`, say."""

    def done(self) -> bool:
        """Tell whether it is over."""
        ...

    def result(self, timeout: float | None = None) -> Any:
        """Wait for it; return what it gave or raise what it raised."""
        ...


class Engine(Protocol):
    """The collectives of one group. Ranks are those in the group.

    Every process calls the same ones in the same order. Arrays that are given stay as
    they are; those returned may be given ones. A call that has to wait longer than the
    group's timeout, or for a process that is gone, raises DistBackendError.
    """

    rank: int
    size: int
    timeout_s: float

    def all_reduce(self, array: Array, op: RedOpType) -> Array:
        """Return the reduction of the arrays of all."""
        ...

    def reduce(self, array: Array, op: RedOpType, root: int) -> Array:
        """Return the reduction at the root, and ``array`` elsewhere."""
        ...

    def broadcast(self, array: Array, root: int) -> Array:
        """Return the root's array."""
        ...

    def all_gather(self, array: Array) -> list[Array]:
        """Return the arrays of all, which are of one size."""
        ...

    def gather(self, array: Array, root: int) -> list[Array]:
        """Return the arrays of all at the root, and none elsewhere."""
        ...

    def scatter(self, parts: Sequence[Array], like: Array, root: int) -> Array:
        """Return the root's part for this process; ``parts`` counts at the root."""
        ...

    def reduce_scatter(self, parts: Sequence[Array], op: RedOpType) -> Array:
        """Return the reduction of all parts for this process."""
        ...

    def all_to_all(self, parts: Sequence[Array], like: Sequence[Array]) -> list[Array]:
        """Return what each process has for this one; ``like`` tells their sizes."""
        ...

    def barrier(self) -> None:
        """Return when all have come here."""
        ...

    def send(self, array: Array, peer: int, tag: int) -> Pending:
        """Begin to send an array."""
        ...

    def receive(self, like: Array, peer: int | None, tag: int) -> Pending:
        """Begin to receive an array; the result is it and the rank that sent it."""
        ...

    def split(self, ranks: Sequence[int], number: int) -> Engine | None:
        """Return an engine for some; None in a process that is not one of them."""
        ...

    def close(self) -> None:
        """Leave the group."""
        ...


# ---- tensors as engines take them, and what engines give back into tensors ----


def flat(tensor: Tensor, on_host: bool) -> Array:
    """Return the elements in one contiguous dimension; maybe the tensor's own memory.

    ``on_host`` asks for a NumPy array wherever the tensor is. Raises RuntimeError for
    sparse tensors.
    """
    if tensor.is_sparse:
        raise RuntimeError("collectives take dense tensors; use .to_dense()")
    array = tensor._data
    if on_host:
        array = backend_of(array).to_host(array)
    return backend_of(array).xp.ascontiguousarray(array).reshape(-1)


def put(tensor: Tensor, array: Array, name: str) -> None:
    """Write elements into a tensor; ``name`` is the operation that did it."""
    target = tensor._data
    values = backend_of(target).xp.asarray(array)
    target[...] = values.reshape(target.shape)
    note_write(tensor, name)


def put_all(tensors: Sequence[Tensor], arrays: Sequence[Array], name: str) -> None:
    """Write elements into each of several tensors; no arrays, no writing."""
    for tensor, array in zip(tensors, arrays, strict=True):
        put(tensor, array, name)


def joined(arrays: Sequence[Array]) -> Array:
    """Return arrays one after another as one."""
    return backend_of(arrays[0]).xp.concatenate(list(arrays))
