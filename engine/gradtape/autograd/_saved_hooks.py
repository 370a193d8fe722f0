"""Saved-tensor hooks for whole blocks: on, forbidden, or saving in host memory."""

from __future__ import annotations

import contextlib
import threading
from collections import defaultdict
from collections.abc import Callable, Generator, MutableMapping
from typing import Any, Final
from weakref import WeakKeyDictionary, WeakValueDictionary

from .._modes.grad_mode import mode
from .._saved.hooks import Hooks
from .._tensor.tensor import Tensor
from .._tensor.write_observers import before_write

PUSH_TYPES: Final = (
    "_push_saved_tensors_default_hooks(): incompatible function arguments. The "
    "following argument types are supported:\n    1. (arg0: collections.abc.Callable, "
    "arg1: collections.abc.Callable) -> None\n\nInvoked with: {pack!r}, {unpack!r}"
)

NOTHING_TO_POP: Final = (
    "is_initialized && !tls.stack.empty() INTERNAL ASSERT FAILED: there are no saved "
    "tensor hooks to take away"
)


class _Refusal(threading.local):
    """Why this thread may not switch hooks on; None where it may."""

    message: str | None = None


_refusal = _Refusal()


def push_hooks(
    pack: Callable[..., Any], unpack: Callable[[Any], Any], for_node: bool = False
) -> None:
    """Switch a pair of hooks on for this thread, on top of those that are on.

    With ``for_node`` the pack hook is handed the node that saves, too.
    """
    if not (callable(pack) and callable(unpack)):
        raise TypeError(PUSH_TYPES.format(pack=pack, unpack=unpack))
    _refuse_if_disabled()
    now = mode.now
    now.packing.append(Hooks(pack, unpack, for_node))
    now.settle()


def pop_hooks() -> None:
    """Switch the innermost pair of hooks of this thread off."""
    now = mode.now
    if not now.packing:
        raise RuntimeError(NOTHING_TO_POP)
    now.packing.pop()
    now.settle()


def disabled_message() -> str | None:
    """Return why hooks are forbidden on this thread; None where they are allowed."""
    return _refusal.message


def hooks_allowed() -> bool:
    """Tell whether hooks may be switched on on this thread."""
    return _refusal.message is None


def forbid_hooks(message: str) -> None:
    """Refuse saved-tensor hooks on this thread, with ``message`` as the error."""
    _refusal.message = message
    if mode.now.packing:
        _refuse_if_disabled()


def allow_hooks() -> None:
    """Allow saved-tensor hooks on this thread again."""
    _refusal.message = None


def _refuse_if_disabled() -> None:
    if _refusal.message is not None:
        raise RuntimeError(_refusal.message)


class saved_tensors_hooks:
    """Let ``pack_hook`` decide, inside the block, what nodes keep of saved tensors.

    Whenever an op saves a tensor, what ``pack_hook(tensor)`` returns is kept in its
    stead, and backward gets the tensor from ``unpack_hook``, which is handed what was
    kept. Of nested pairs the innermost is used. A pack hook must not write to the
    tensor (RuntimeError), and should not return it: that would make a cycle.

    >>> import gradtape as torch
    >>> kept = []
    >>> def pack(tensor):
    ...     kept.append(tensor.detach())
    ...     return len(kept) - 1
    >>> x = torch.tensor([2.0], requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(pack, lambda at: kept[at]):
    ...     y = x.exp()
    >>> y.backward()
    >>> kept
    [tensor([7.3891])]
    """

    def __init__(
        self,
        pack_hook: Callable[[Tensor], Any],
        unpack_hook: Callable[[Any], Tensor],
    ) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        push_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *args: object) -> None:
        pop_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Keep what is saved inside the block in host memory until backward needs it.

    ``pin_memory`` asks for page-locked memory, which CuPy manages by itself; it is
    accepted and makes no difference.

    >>> import gradtape as torch
    >>> x = torch.tensor([2.0], requires_grad=True)
    >>> with torch.autograd.graph.save_on_cpu():
    ...     y = x * x
    >>> y.backward()
    >>> x.grad
    tensor([4.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> tuple[Any, Tensor]:
            if not pin_memory:
                return tensor.device, tensor.cpu()
            packed = tensor.detach().cpu()
            return (
                tensor.device,
                packed.clone() if packed.device == tensor.device else packed,
            )

        def unpack(packed: tuple[Any, Tensor]) -> Tensor:
            device, tensor = packed
            return tensor.to(device, non_blocking=pin_memory)

        super().__init__(pack, unpack)


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Generator[None, None, None]:
    """Refuse saved-tensor hooks inside the block, with ``error_message``.

    Raises RuntimeError at once where hooks are on already.

    >>> import gradtape as torch
    >>> with torch.autograd.graph.disable_saved_tensors_hooks("not in here"):
    ...     with torch.autograd.graph.save_on_cpu():
    ...         pass
    Traceback (most recent call last):
        ...
    RuntimeError: not in here
    """
    before = disabled_message()
    try:
        forbid_hooks(error_message)
        yield
    finally:
        if before is None:
            allow_hooks()
        else:
            forbid_hooks(before)


# ---- ``allow_mutation_on_saved_tensors`` ----

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
