"""What can be read off a hook: its name, its code, the tensors it keeps alive."""

from __future__ import annotations

import functools
import inspect
from types import CodeType
from typing import Any, NamedTuple


class Hook(NamedTuple):
    """A function that the user had called in a backward pass."""

    name: str
    code: CodeType | None  # None: written in another language


def code_of(hook: Any) -> CodeType | None:
    """Return the code of a hook; that of the function within a partial or method."""
    while isinstance(hook, functools.partial):
        hook = hook.func
    function = getattr(hook, "__func__", hook)
    code = getattr(function, "__code__", None)
    if code is None:
        code = getattr(vars(type(hook)).get("__call__"), "__code__", None)
    return code


def hooks_in(*tables: Any) -> tuple[Hook, ...]:
    """Return the hooks in these tables, those of gradviz left out."""
    return tuple(
        Hook(
            getattr(hook, "__qualname__", type(hook).__name__),
            code_of(inspect.unwrap(hook)),
        )
        for table in tables
        for hook in (table or {}).values()
        if not f"{getattr(hook, '__module__', '')}.".startswith("gradviz.")
    )


def held_by(hook: Any, kind: type) -> list[Any]:
    """Return what a hook's closure, defaults or partial hold of a type: tensors."""
    found: list[Any] = []
    while isinstance(hook, functools.partial):
        found += [*hook.args, *hook.keywords.values()]
        hook = hook.func
    function = getattr(hook, "__func__", hook)
    found += getattr(function, "__defaults__", None) or ()
    for cell in getattr(function, "__closure__", None) or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # not filled yet
            continue
    return [each for each in found if isinstance(each, kind)]
