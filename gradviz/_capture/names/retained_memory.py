"""What variables keep alive: the memory of their tensors and of the graphs behind."""

from __future__ import annotations

import gc
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gradviz._capture.names.tensors import grad_fn_of, kept_tensors

_MOST_OBJECTS = 50_000  # looked through in search of tensors
_MOST_NODES = 100_000  # of the graphs behind them
_CONTAINERS = (list, tuple, set, frozenset, deque)


class Held:
    """The storages that some variables reach, remembered weakly with their sizes."""

    def __init__(self, variables: Iterable[Any]) -> None:
        self._gone: dict[Any, tuple[Callable[[], bool], int]] = {}
        nodes: dict[Any, None] = {}
        for tensor in _tensors_in(variables):
            self._add(tensor)
            if (node := grad_fn_of(tensor)) is not None:
                nodes[node] = None
        waiting = list(nodes)
        while waiting and len(nodes) < _MOST_NODES:
            node = waiting.pop()
            for tensor in kept_tensors(node):
                self._add(tensor)
            for behind, _ in node.next_functions:
                if behind is not None and behind not in nodes:
                    nodes[behind] = None
                    waiting.append(behind)

    def freed(self) -> tuple[int, int]:
        """Return how many of the storages are gone by now, and their bytes."""
        gc.collect()
        sizes = [nbytes for is_gone, nbytes in self._gone.values() if is_gone()]
        return len(sizes), sum(sizes)

    def _add(self, tensor: Any) -> None:
        try:
            key, is_gone, nbytes = _memory_of(tensor)
        except (RuntimeError, NotImplementedError):  # a tensor without a storage
            return
        self._gone[key] = is_gone, nbytes


def _memory_of(tensor: Any) -> tuple[Any, Callable[[], bool], int]:
    """Return a key of the tensor's storage, what tells whether it died, its bytes."""
    storage = tensor.untyped_storage()
    nbytes = storage.nbytes()
    if type(tensor).__module__.partition(".")[0] == "gradtape":
        reference = weakref.ref(tensor._storage)
        return id(tensor._storage), lambda: reference() is None, nbytes
    address, token = storage._cdata, _TorchToken(storage)
    return address, token.expired, nbytes


class _TorchToken:
    """A weak reference to a storage of PyTorch, which is no Python object."""

    def __init__(self, storage: Any) -> None:
        self._kind = type(storage)
        self._reference = storage._weak_ref()

    def expired(self) -> bool:
        return self._kind._expired(self._reference)

    def __del__(self) -> None:
        self._kind._free_weak_ref(self._reference)


def _tensors_in(variables: Iterable[Any]) -> Iterator[Any]:
    """Yield the tensors among values, in containers and in objects' attributes."""
    loaded: list[Any] = [sys.modules.get(name) for name in ("gradtape", "torch")]
    kinds = tuple(module.Tensor for module in loaded if hasattr(module, "Tensor"))
    waiting = list(variables)
    seen: set[int] = set()
    while waiting and len(seen) < _MOST_OBJECTS:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, type):
            continue
        seen.add(id(value))
        if isinstance(value, kinds):
            yield value
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, _CONTAINERS):
            waiting += value
        elif type(value).__module__ not in ("builtins", "types"):
            waiting += getattr(value, "__dict__", {}).values()
