"""Tensors as engines take them, and what engines give back into tensors."""

from __future__ import annotations

from collections.abc import Sequence

from .._backend import backend_of
from .._dispatch.inplace import note_write
from .._tensor.tensor import Tensor
from ._engine import Array

__all__ = ["flat", "joined", "put", "put_all"]


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
