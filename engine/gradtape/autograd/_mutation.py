"""``allow_mutation_on_saved_tensors``: copy what was saved before it is overwritten."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Generator, MutableMapping
from typing import Final
from weakref import WeakKeyDictionary, WeakValueDictionary

from .._tensor.tensor import Tensor
from .._tensor.write_observers import before_write
from ._saved_hooks import saved_tensors_hooks

OUTSIDE: Final = (
    "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
    "in which the graph was originally recorded."
)

NESTED: Final = "allow_mutation_on_saved_tensors contexts cannot be nested"

TensorKey = tuple[int, int, int]  # which tensor, whose memory, at which version
MemoryKey = tuple[int, int]


class _Handle:
    """Stands in a node for a saved tensor; dies with the graph."""

    __slots__ = ("__weakref__",)


class AllowMutationContext:
    """What was saved inside the block: the tensors, or copies of those since written.

    The tensors are held without their history, so that they hold no graph.
    """

    def __init__(self) -> None:
        self.cloned: MutableMapping[_Handle, Tensor] = WeakKeyDictionary()
        self.original: MutableMapping[_Handle, Tensor] = WeakKeyDictionary()
        self.tid_to_weakhandle: MutableMapping[TensorKey, _Handle] = (
            WeakValueDictionary()
        )
        self.sid_to_tid: dict[MemoryKey, set[TensorKey]] = defaultdict(set)

    def clear(self) -> None:
        """Let go of everything."""
        self.cloned.clear()
        self.original.clear()
        self.tid_to_weakhandle.clear()
        self.sid_to_tid.clear()

    def pack(self, tensor: Tensor) -> _Handle:
        """Remember a saved tensor; one that is saved several times only once."""
        storage = tensor._storage
        key = (id(tensor), storage.id, storage.version)
        self.sid_to_tid[key[1:]].add(key)
        handle = self.tid_to_weakhandle.get(key)
        if handle is None:
            handle = self.tid_to_weakhandle[key] = _Handle()
            self.original[handle] = tensor.detach()
        return handle

    def unpack(self, handle: _Handle) -> Tensor:
        """Return the tensor as it was when it was saved."""
        if _current[-1:] != [self]:
            raise AssertionError(OUTSIDE)
        copy = self.cloned.get(handle)
        if copy is not None:
            return copy
        tensor = self.original.get(handle)
        if tensor is None:
            raise AssertionError(OUTSIDE)
        return tensor

    def before_write(self, target: Tensor) -> None:
        """Copy the saved tensors in the memory that ``target`` is about to change."""
        storage = target._storage
        if storage.inference:
            return
        for key in self.sid_to_tid.pop((storage.id, storage.version), ()):
            handle = self.tid_to_weakhandle.get(key)
            if handle is not None and handle in self.original:
                self.cloned[handle] = self.original.pop(handle).clone()


_current: list[AllowMutationContext] = []


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Generator[AllowMutationContext, None, None]:
    """Allow in-place ops inside the block on tensors that backward needs.

    They are copied before the first write, so that backward, which must run inside the
    block too, sees them as they were. Raises RuntimeError when nested.

    >>> import gradtape as torch
    >>> x = torch.tensor([2.0], requires_grad=True)
    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x.clone()
    ...     square = y * y
    ...     y = y.zero_()
    ...     square.backward()
    >>> x.grad
    tensor([4.])
    """
    if _current:
        raise RuntimeError(NESTED)
    context = AllowMutationContext()
    with saved_tensors_hooks(context.pack, context.unpack):
        _current.append(context)
        before_write.append(context.before_write)
        try:
            yield context
        finally:
            before_write.remove(context.before_write)
            _current.clear()
            context.clear()
