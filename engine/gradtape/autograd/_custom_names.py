"""Names that the engine and a user's ``ctx`` may both use, kept apart.

The node of a custom function is the ``ctx`` that the user writes to, and users write
``ctx.params``, ``ctx.scope``, ``ctx.saved``… The engine keeps its record under some of
these names. What a user writes there is stored aside: the engine goes on seeing its own
value and the user's code sees the user's.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from .._node import Node
from .._site import internal_files

ENGINE_READERS: set[str] = set()
"""Top-level packages that look at nodes as the engine does: tools, not users."""

_PUBLIC = {
    "dirty_tensors",
    "materialize_grads",
    "metadata",
    "needs_input_grad",
    "next_functions",
    "non_differentiable",
    "saved_for_forward",
    "saved_tensors",
    "saved_variables",
    "to_save",
}
"""What PyTorch has on a ctx too: written by users on purpose, or refused."""

_get_frame = sys._getframe


def _is_engine(frame: FrameType) -> bool:
    if internal_files[frame.f_code.co_filename]:
        return True
    package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return package in ENGINE_READERS


class SharedName:
    """One such name on the class of custom nodes; ``engine`` is what Node has there."""

    __slots__ = ("engine", "name")

    def __init__(self, name: str, engine: Any) -> None:
        self.name = name
        self.engine = engine

    def __get__(self, node: Any, owner: type | None = None) -> Any:
        if node is not None:
            own = node._own
            if own is not None and self.name in own and not _is_engine(_get_frame(1)):
                return own[self.name]
        engine = self.engine
        read = getattr(type(engine), "__get__", None)
        return engine if read is None else read(engine, node, owner)

    def __set__(self, node: Any, value: Any) -> None:
        if _is_engine(_get_frame(1)):
            self.engine.__set__(node, value)
        elif node._own is None:
            node._own = {self.name: value}
        else:
            node._own[self.name] = value

    def __delete__(self, node: Any) -> None:
        if node._own is None or self.name not in node._own:
            raise AttributeError(self.name)
        del node._own[self.name]


def share_names(cls: type[Node]) -> None:
    """Let users write what they like to instances of ``cls``, a kind of node."""
    for name in dir(cls):
        if not name.startswith("_") and name not in _PUBLIC:
            for base in cls.__mro__:
                if name in vars(base):
                    setattr(cls, name, SharedName(name, vars(base)[name]))
                    break
