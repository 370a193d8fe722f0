"""The memory that the graph of a forward pass holds, until a backward pass."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any


class Kept:
    """Adds up the storages that derivatives keep, each once, in bytes.

    Those of parameters and buffers are there anyway, and not counted.
    """

    def __init__(self, own: Iterable[Any]) -> None:
        self.nbytes = 0
        self._seen = {key for key, _ in map(_storage, own)}

    @contextmanager
    def listening(self, lib: Any) -> Generator[None]:
        """Count what is saved inside the block, as it is saved."""
        with lib.autograd.graph.saved_tensors_hooks(self._saved, _same):
            yield

    def _saved(self, tensor: Any) -> Any:
        key, nbytes = _storage(tensor)
        if key not in self._seen:
            self._seen.add(key)
            self.nbytes += nbytes
        return tensor.detach()  # the tensor itself would hold the node that holds it


def _same(tensor: Any) -> Any:
    return tensor


def _storage(tensor: Any) -> tuple[Any, int]:
    """Return what tells a storage from all others that are alive, and its bytes.

    A tensor without one storage, as a sparse one, stands for itself.
    """
    try:
        storage = tensor.untyped_storage()
        return storage._cdata, storage.nbytes()
    except (NotImplementedError, RuntimeError, AttributeError):
        return ("tensor", id(tensor)), tensor.numel() * tensor.element_size()
