"""What forward mode knows of a tensor, and which levels of it a thread is in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .._modes.grad_mode import mode
from .._tensor.tensor import Tensor

if TYPE_CHECKING:
    from .dual import Level


class Carried:
    """What forward mode knows of one tensor: its tangents, and where they come from.

    ``base`` is the tensor whose tangent this one's is a view of; ``apart`` says that
    there is none although the tensor itself is a view, as duals are of their primals.
    """

    __slots__ = ("__weakref__", "apart", "base", "tangents")

    def __init__(self) -> None:
        self.tangents: dict[Level, Tensor] = {}
        self.base: Tensor | None = None
        self.apart = False


def innermost() -> Level | None:
    """Return the level that was entered last."""
    return mode.now.levels


def is_enabled() -> bool:
    """Tell whether tangents are computed in this thread."""
    return mode.now.forward


def enable(enabled: bool) -> None:
    """Compute tangents in this thread, or hide all of them."""
    now = mode.now
    now.forward = enabled
    now.settle()


def put(level: Level | None) -> None:
    """Make a level the innermost one."""
    now = mode.now
    now.levels = level
    now.settle()


class Below:
    """Work on tangents of a level: only the levels below it are on."""

    __slots__ = ("before", "below")

    def __init__(self, level: Level) -> None:
        self.below = level.below

    def __enter__(self) -> None:
        now = mode.now
        self.before = now.levels
        now.levels = self.below
        now.settle()

    def __exit__(self, *exc: object) -> None:
        now = mode.now
        now.levels = self.before
        now.settle()


def may_carry(tensor: Tensor) -> bool:
    """Tell, cheaply, whether a tensor could have a tangent."""
    extra = tensor._extra
    if extra is not None and extra.carried is not None:
        return True
    view = tensor._view
    return view is not None and view.base is not None and view.base._extra is not None


def forward_base(tensor: Tensor) -> Tensor | None:
    """Return the tensor whose tangents a view's are views of."""
    extra = tensor._extra
    carried = None if extra is None else extra.carried
    if carried is not None and (carried.apart or carried.base is not None):
        return carried.base
    return tensor._base


def set_apart(tensor: Tensor) -> Tensor:
    """Cut a new view off its base's tangents; return it."""
    carried_by(tensor).apart = True
    return tensor


def carried_by(tensor: Tensor) -> Carried:
    extra = tensor.more()
    if extra.carried is None:
        extra.carried = Carried()
    return extra.carried


def flat(args: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for arg in args:
        found.extend(arg if isinstance(arg, list | tuple) else (arg,))
    return found
