"""Names that the engine and a user's ``ctx`` may both use, kept apart.

The node of a custom function is the ``ctx`` that the user writes to, and users write
``ctx.params``, ``ctx.scope``, ``ctx.saved``… The engine keeps its record under some of
these names. What a user writes there is put aside: the engine goes on seeing its own
value and the user's code sees the user's. Only a Function whose code does write such a
name pays for it.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from ..._common.site import internal_files
from ..._graph.node import Node

ENGINE_READERS: set[str] = set()
"""Top-level packages that look at nodes as the engine does: tools, not users."""

RESERVED = {
    name for name in dir(Node) if not name.startswith("_") and name != "metadata"
} - {"next_functions"}  # these two nobody may write, in PyTorch too

_get_frame = sys._getframe


def is_engine(frame: FrameType) -> bool:
    """Tell whether the code that runs in ``frame`` wants the engine's own values."""
    if internal_files[frame.f_code.co_filename]:
        return True
    package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return package in ENGINE_READERS


def put_aside(node: Any, name: str, value: Any) -> None:
    """Keep what the user wrote to ``ctx.<name>`` out of the engine's way."""
    kind = type(node)
    if not isinstance(vars(kind).get(name), SharedName):
        setattr(kind, name, SharedName(name, _found(kind, name)))
    if node._own is None:
        node._own = {}
    node._own[name] = value


def _found(kind: type, name: str) -> Any:
    """Return what the class has under a name: a slot, a method, a constant."""
    return next(vars(base)[name] for base in kind.__mro__ if name in vars(base))


class SharedName:
    """A name that one Function's code uses too; ``engine`` is what nodes have there."""

    __slots__ = ("engine", "name")

    def __init__(self, name: str, engine: Any) -> None:
        self.name = name
        self.engine = engine

    def __get__(self, node: Any, owner: type | None = None) -> Any:
        if node is not None:
            own = node._own
            if own is not None and self.name in own and not is_engine(_get_frame(1)):
                return own[self.name]
        read = getattr(type(self.engine), "__get__", None)
        return self.engine if read is None else read(self.engine, node, owner)

    def __set__(self, node: Any, value: Any) -> None:
        self.engine.__set__(node, value)  # the user's writes do not come here

    def __delete__(self, node: Any) -> None:
        if node._own is None or self.name not in node._own:
            raise AttributeError(self.name)
        del node._own[self.name]
