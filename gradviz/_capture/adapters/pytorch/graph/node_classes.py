"""What the nodes of one class of PyTorch have in common."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from gradviz._capture.adapters.pytorch.op_facts import backward_code
from gradviz._capture.adapters.pytorch.saved_attributes import saved_slots
from gradviz._capture.adapters.pytorch.view_strides import view_slots
from gradviz._capture.recorder.call_text import source_of

_EXTENSION = "CppFunction"  # the class of all nodes that PyTorch does not know


class NodeClass(NamedTuple):
    """What nodes of one class have in common."""

    name: str
    leaf: bool  # an AccumulateGrad
    slots: tuple[tuple[str, str], ...]
    view: tuple[str, ...] | None  # the numbers of its call that a view keeps
    custom: bool = False
    formula: str = ""  # the text of a user's backward, as it is now


def name_of(fn: Any) -> str:
    """Return what a node is called."""
    cls = type(fn)
    if hasattr(cls, "_forward_cls"):
        return str(fn.name())
    name = cls.__name__
    return str(fn.name()).rpartition("::")[2] if name == _EXTENSION else name


def class_of(fn: Any) -> NodeClass:
    cls = type(fn)
    # A user's class is no key of a cache: that would keep it alive.
    if hasattr(cls, "_forward_cls"):
        source = source_of(backward_code(cls._forward_cls))
        return NodeClass(name_of(fn), False, saved_slots(cls), None, True, source)
    if cls.__name__ == _EXTENSION:
        return NodeClass(name_of(fn), False, (), None)
    return _known_class(cls)


@cache
def _known_class(cls: type) -> NodeClass:
    name = cls.__name__
    view = view_slots(name)
    return NodeClass(name, name == "AccumulateGrad", saved_slots(cls), view)


def is_shared(fn: Any) -> bool:
    """Whether all nodes of this Python class are alike."""
    return type(fn).__name__ != _EXTENSION
