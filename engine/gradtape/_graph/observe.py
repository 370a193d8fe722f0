"""Observers: typed events for whoever watches. Nobody watching costs one check."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from .._common.handles import RemovableHandle
from .._common.site import RawSite
from .node import Node
from .protocols import WriteLike
from .scope import Scope


@dataclass(slots=True)
class OpCalled:
    """An op ran forward. ``node`` is None where nothing was recorded."""

    name: str
    inputs: Sequence[Any]  # the arguments of the call, tensors and others
    outputs: Sequence[Any]  # tensors
    node: Node | None


@dataclass(slots=True)
class StorageWritten:
    """An in-place op changed a storage; ``version`` is the one it made."""

    storage: Any  # the Storage
    op: str
    version: int
    tensor: Any  # the one that was written through
    site: RawSite | None


@dataclass(slots=True)
class GradModeSwitched:
    """Gradient recording went on or off."""

    enabled: bool
    site: RawSite | None


@dataclass(slots=True)
class BackwardBegan:
    """A backward pass is about to run its first node."""

    roots: Sequence[Node]
    nodes: Sequence[Node]  # all nodes that will run, in order
    site: RawSite | None


@dataclass(slots=True)
class BackwardEnded:
    """A backward pass is over; ``error`` is what stopped it, if anything did."""

    error: BaseException | None


@dataclass(slots=True)
class NodeEntered:
    """A node is about to run; gradients are raw arrays, one per forward output."""

    node: Node
    gradients: Sequence[Any]


@dataclass(slots=True)
class NodeLeft:
    """A node ran; gradients are raw arrays, one per next function."""

    node: Node
    gradients: Sequence[Any]


@dataclass(slots=True)
class GradAccumulated:
    """A leaf's ``.grad`` took in a gradient."""

    node: Node
    tensor: Any  # the leaf
    gradient: Any
    first: bool = True  # there was nothing in ``.grad`` before


@dataclass(slots=True)
class HookRan:
    """A user's hook is called."""

    name: str
    node: Node | None
    key: int = -1  # the number of its handle


@dataclass(slots=True)
class HookReturned:
    """A user's hook is over."""

    key: int
    node: Node
    replaced: bool  # it returned a gradient to put in the place of its own
    wrote: bool  # it wrote into the gradient that it was given


@dataclass(slots=True)
class OptimizerStepped:
    """An optimizer changed its parameters."""

    optimizer: Any
    site: RawSite | None


@dataclass(slots=True)
class ModuleEntered:
    """A module's forward begins."""

    scope: Scope


@dataclass(slots=True)
class ModuleLeft:
    """A module's forward is over, with or without an error."""

    scope: Scope


@dataclass(slots=True)
class SavedValueChanged:
    """What a node saved was overwritten, and the version counter did not notice."""

    node: Node
    slot: str  # "_saved_self"
    storage: Any  # the Storage
    write: WriteLike | None  # who did it, if it was an op on an alias


Event: TypeAlias = (
    OpCalled
    | StorageWritten
    | GradModeSwitched
    | BackwardBegan
    | BackwardEnded
    | NodeEntered
    | NodeLeft
    | GradAccumulated
    | HookRan
    | HookReturned
    | OptimizerStepped
    | ModuleEntered
    | ModuleLeft
    | SavedValueChanged
)
Listener: TypeAlias = Callable[[Event], None]

observers: OrderedDict[int, Listener] = OrderedDict()
"""Everyone who listens. Ops test it for emptiness before they build an event."""

attendants: list[Listener] = []
"""Parts of the engine that see every event first, while anybody observes."""


def observe(listener: Listener) -> RemovableHandle:
    """Call ``listener`` with every event until the returned handle is removed.

    >>> import gradtape as torch
    >>> names = []
    >>> with torch.observe(lambda e: names.append(type(e).__name__)):
    ...     y = torch.ones(2) * 2
    >>> names[-1]
    'OpCalled'
    """
    handle = RemovableHandle(observers)
    observers[handle.id] = listener
    return handle


unseen: list[Callable[[Event], bool]] = []
"""Parts of the engine that know of events which are nobody's affair."""


def notify(event: Event) -> None:
    """Hand the event to every listener. One that raises is removed, with a warning."""
    if any(is_unseen(event) for is_unseen in unseen):
        return
    for attend in attendants:
        attend(event)
    for key, listener in list(observers.items()):
        try:
            listener(event)
        except Exception as error:
            observers.pop(key, None)
            warnings.warn(
                f"an observer failed on {type(event).__name__} and was removed: "
                f"{type(error).__name__}: {error}",
                RuntimeWarning,
                stacklevel=3,
            )
