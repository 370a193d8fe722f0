"""What can be read off a hook: its name, its code, the tensors it keeps alive."""

from __future__ import annotations

import contextlib
import functools
import inspect
from types import CodeType
from typing import Any, NamedTuple

from gradviz._capture.names.weak_records import Known


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


class Owners:
    """Numbers the objects whose methods are hooks; holds none of them."""

    def __init__(self) -> None:
        self._known: Known[Any, int] = Known()
        self._count = 0

    def number(self, hook: Any) -> int | None:
        """Return the number of the object whose method a hook is; None for others."""
        while isinstance(hook, functools.partial):
            hook = hook.func
        owner = getattr(hook, "__self__", None)
        if owner is None:
            return None
        known = self._known.get(owner)
        if known is None:
            self._count += 1
            known = self._count
            with contextlib.suppress(TypeError):  # it cannot be referred to weakly
                self._known.add(owner, known)
        return known


def hooks_in(*tables: Any) -> tuple[Hook, ...]:
    """Return the user's hooks in these tables."""
    return tuple(
        Hook(name_of(hook), code_of(inspect.unwrap(hook)))
        for table in tables
        for each in (table or {}).values()
        for hook in users_hooks(each)
        if not f"{getattr(hook, '__module__', '')}.".startswith("gradviz.")
    )


def hooks_of(leaf: Any) -> tuple[Hook, ...]:
    """Return the user's hooks on a leaf of PyTorch."""
    return hooks_in(leaf._backward_hooks, leaf._post_accumulate_grad_hooks)


def name_of(hook: Any) -> str:
    """Return the name that the program gave a hook."""
    return getattr(hook, "__qualname__", type(hook).__name__)


def is_of_module(name: str) -> bool:
    """Tell whether a module put the hook of this name on a node, to call the user's."""
    return name.startswith("BackwardHook.")


def users_hooks(hook: Any) -> tuple[Any, ...]:
    """Return the hooks of the user that a hook on a node calls: as a rule, itself.

    A module with backward hooks puts one of its own on the node of its inputs, which
    calls the user's, and one on the node of its outputs, which calls the pre-hooks, and
    where no input needs a gradient the others as well.
    """
    code = getattr(hook, "__code__", None)
    if code is None or "self" not in code.co_freevars:
        return (hook,)
    owner = hook.__closure__[code.co_freevars.index("self")].cell_contents
    if not is_of_module(code.co_qualname) or not hasattr(owner, "user_pre_hooks"):
        return (hook,)
    if "setup_output_hook" not in code.co_qualname:
        return tuple(owner.user_hooks)
    alone = owner.user_hooks if owner.input_tensors_index is None else ()
    return (*owner.user_pre_hooks, *alone)


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
