"""Making an op's functions of templates: ordinary functions that read it as globals.

A call costs 0.05 µs and a whole recorded op 1.5, so each op gets straight-line code of
its own. A template reads its op, its kernel and what it keeps as globals of its module;
a copy of it finds those of one op there. Flags among them (``if keeps_self:``) cost
0.004 µs. Each copy has bytecode of its own, since CPython remembers in it which types
and which globals it met: shared by two ops, it would forget them with every call.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from types import CellType, FunctionType
from typing import Any, Final, TypeVar

from .._common.compiled import maker_of

F = TypeVar("F", bound=Callable[..., Any])
Picker = Callable[[Any], Any]

GIVEN: Final[Any] = None
"""What stands in a template's module for what :func:`bound` gives to each copy."""


_scopes: dict[str, dict[str, Any]] = {}
"""What the templates of a module read besides the facts of an op."""


def template(function: F) -> F:
    """Mark a function that :func:`bound` copies, for the compiler."""
    return function


def bound(
    template: Callable[..., Any], name: str, facts: dict[str, Any], **code: Any
) -> Any:
    """Return a copy of a template, known as ``name``, that reads ``facts`` as globals.

    ``code`` replaces further parts of its code object. Where templates are compiled,
    the copy is, and has no frame.
    """
    assert isinstance(template, FunctionType)
    maker = maker_of(template)
    if maker is not None:
        made = maker({**template.__globals__, **facts})
        made.__name__ = made.__qualname__ = name
        made.__module__ = template.__module__
        return made
    own = template.__code__.replace(co_name=name, co_qualname=name, **code)
    module = template.__globals__["__name__"]
    if module not in _scopes:
        _scopes[module] = {
            n: v for n, v in template.__globals__.items() if n[:2] != "__"
        }
    copy = FunctionType(own, {**_scopes[module], **facts}, name)
    copy.__kwdefaults__ = template.__kwdefaults__ if own.co_kwonlyargcount else None
    copy.__qualname__ = name  # what Python calls it when arguments are missing
    return copy


def picker(positions: tuple[int, ...]) -> Picker:
    """Return what picks the values at these positions, as a tuple or list."""
    if not positions:
        return itemgetter(slice(0, 0))
    first, last = positions[0], positions[-1]
    if first >= 0 and positions == tuple(range(first, last + 1)):
        return itemgetter(slice(first, last + 1))
    if positions == (-1,):
        return itemgetter(slice(-1, None))
    return itemgetter(*positions)


def cells(values: dict[str, Any], names: tuple[str, ...]) -> tuple[CellType, ...]:
    """Return the closure of code whose free variables have these names."""
    return tuple([CellType(values[name]) for name in names])
