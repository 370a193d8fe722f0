"""Classes of tensors: what each has a say in, and the names it shares with our slots.

A class of the user's may answer for ops (``__torch_function__``) or for what runs below
autograd (``__torch_dispatch__``); the sets here are what the hot paths look at. And
``self._data`` is a common name for what a tensor stands for: a class whose methods
mention such a name has two attributes under it, our slot and the user's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

from .._common.site import internal_files
from .._modes.disable_dispatch import disabled, undispatched

plain_types: set[type] = set()
"""Tensor, Parameter and the like, whose ops give plain tensors; see torch_function."""

dispatching: set[type] = set()
"""The user's classes of tensors that have a ``__torch_dispatch__``."""

when_opinionated: list[Callable[[type], None]] = []
"""Told of every class of tensors that has a ``__torch_function__`` of its own."""


def opinionated(kind: type) -> None:
    """Tell of such a class."""
    for tell in when_opinionated:
        tell(kind)


def enroll(cls: Any, base: type) -> None:
    """Note what a new class of tensors has a say in."""
    ours = cls.__module__.partition(".")[0] == "gradtape"
    if not ours:
        _share_names(cls, base)
    owner = next(c for c in cls.__mro__ if "__torch_function__" in c.__dict__)
    if cls.__torch_dispatch__ is not undispatched:
        dispatching.add(cls)
        opinionated(cls)
        if owner is base:
            cls.__torch_function__ = staticmethod(disabled)  # type: ignore[attr-defined]
    elif ours or (owner is not base and owner in plain_types):
        plain_types.add(cls)
    elif owner is not base:
        opinionated(cls)


# ---- names that a class shares with our slots ----

_PYTORCHS = ("_grad", "_grad_fn")
"""Names that PyTorch's tensors take themselves."""


class SharedName:
    """A slot to this package's code, an attribute of the object to anybody else's."""

    __slots__ = ("name", "slot")

    def __init__(self, slot: Any) -> None:
        self.name, self.slot = slot.__name__, slot

    def __get__(self, tensor: Any, owner: type | None = None) -> Any:
        if tensor is None:
            return self
        if _asked_from_within():
            return self.slot.__get__(tensor)
        if self.name not in tensor.__dict__:
            kind = type(tensor).__name__
            raise AttributeError(f"'{kind}' object has no attribute '{self.name}'")
        return tensor.__dict__[self.name]

    def __set__(self, tensor: Any, value: Any) -> None:
        if _asked_from_within():
            self.slot.__set__(tensor, value)
        else:
            tensor.__dict__[self.name] = value

    def __delete__(self, tensor: Any) -> None:
        if _asked_from_within():
            self.slot.__delete__(tensor)
        else:
            del tensor.__dict__[self.name]


def _asked_from_within() -> bool:
    return internal_files[sys._getframe(2).f_code.co_filename]


def _share_names(cls: type, base: Any) -> None:
    """Let a class of the user's have what it mentions beside the slots of ``base``."""
    mentioned: set[str] = set()
    for value in vars(cls).values():
        function = getattr(value, "__func__", getattr(value, "fget", value))
        if hasattr(function, "__code__"):
            mentioned |= names_in(function.__code__)
    for name in mentioned.intersection(base.__slots__).difference(_PYTORCHS):
        if not name.startswith("__"):
            setattr(cls, name, SharedName(base.__dict__[name]))


def names_in(code: CodeType) -> set[str]:
    """Return the attributes and globals that code, and code in it, mentions."""
    inner = [names_in(each) for each in code.co_consts if isinstance(each, CodeType)]
    return set(code.co_names).union(*inner)
