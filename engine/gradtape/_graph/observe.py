"""Observers: typed events for whoever watches. Nobody watching costs one check."""

from __future__ import annotations

import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any, Protocol, TypeAlias

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

full_observers: OrderedDict[int, Listener] = OrderedDict()
"""Of those who listen, who wants to hear of modules and of writes to memory too."""


def observe(listener: Listener, *, brief: bool = False) -> RemovableHandle:
    """Call ``listener`` with every event until the returned handle is removed.

    In brief it need not hear of modules and of writes to memory, and nobody checks for
    it whether saved values change unnoticed.

    >>> import gradtape as torch
    >>> names = []
    >>> with torch.observe(lambda e: names.append(type(e).__name__)):
    ...     y = torch.ones(2) * 2
    >>> names[-1]
    'OpCalled'
    """
    handle = RemovableHandle(observers, extra_dict=full_observers)
    observers[handle.id] = listener
    if not brief:
        full_observers[handle.id] = listener
    return handle


def _nobody_answers() -> bool:
    return False


is_answering: Callable[[], bool] = _nobody_answers
"""Whether a mode or class is answering for an op in this thread."""


def install_answering(function: Callable[[], bool]) -> None:
    """Let ``_overrides``, which asks them, fill in :data:`is_answering`."""
    global is_answering  # noqa: PLW0603 - the one seam between events and overrides
    is_answering = function


def notify(event: Event) -> None:
    """Hand the event to every listener. One that raises is removed, with a warning.

    What a mode or class runs below autograd, to answer for an op, is its own affair.
    """
    if type(event) is OpCalled and is_answering():
        return
    if full_observers:
        for attend in attendants:
            attend(event)
    for key, listener in list(observers.items()):
        try:
            listener(event)
        except Exception as error:
            observers.pop(key, None)
            full_observers.pop(key, None)
            warnings.warn(
                f"an observer failed on {type(event).__name__} and was removed: "
                f"{type(error).__name__}: {error}",
                RuntimeWarning,
                stacklevel=3,
            )


# ---- calls of public functions ------------------------------------------------------


@dataclass(slots=True)
class PublicCall:
    """A call of a public function, from when it begins to when it is over.

    Of ``backward`` and ``grad`` a method's ``self`` is the first argument.
    """

    name: str  # as PyTorch knows the op: "mul" for ``x * y``, "data.set", "backward"
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    first: int  # nodes that it makes have this sequence number or a higher one
    parameters: Sequence[str] = ()  # names of the arguments, where they are a pass's


class CallListener(Protocol):
    """Hears of calls; :func:`gradtape._public_calls.announce.observe_calls` adds one.

    What it raises reaches the user. It hears the outermost call of a thread; what the
    engine calls inside is part of that, except for passes, whose hooks are the user's.
    """

    @property
    def eager(self) -> bool:
        """Whether each call is announced when it begins, not only those that change
        what they are given."""
        ...

    @property
    def user_files(self) -> Mapping[str, bool]:
        """By file name: whether a frame there may access attributes for the user."""
        ...

    def began(self, call: PublicCall) -> None:
        """Hear that a function is about to run."""

    def ended(self, call: PublicCall, result: Any) -> None:
        """Hear what a function returned."""

    def raised(self, call: PublicCall, error: BaseException) -> None:
        """Hear what a function raised."""

    def pass_began(self, call: PublicCall) -> bool:
        """Hear that a pass is about to run; return whether to tell of its end."""
        ...

    def pass_ended(self, call: PublicCall, result: Any) -> None:
        """Hear that a pass is over."""

    def pass_raised(self, call: PublicCall, error: BaseException) -> None:
        """Hear that a pass raised."""

    def mode_switched(self, switch: Any, leaving: bool, caller: CodeType) -> None:
        """Hear that a switch of grad mode or inference mode was made."""

    def hook_registered(self, kind: str, on: Any, hook: Any, handle: Any) -> None:
        """Hear that a hook was put on a tensor or a node."""

    def hook_removed(self, handle: Any) -> None:
        """Hear that a handle took a hook off."""


call_listeners: list[CallListener] = []
"""Who hears of calls: of ops the last one, of passes, modes and hooks each."""


class Caller:
    """What a thread is in the middle of."""

    __slots__ = ("call", "depth", "handing")

    def __init__(self) -> None:
        self.depth = 0  # calls around that are announced as a whole, or not at all
        self.call: PublicCall | None = None  # the one that is announced
        self.handing = 0  # methods that hand a pass on to the function of that name


class _Calling(threading.local):
    """What the current thread is doing; each look at a thread-local costs."""

    def __init__(self) -> None:
        self.now = Caller()


calling = _Calling()
