"""May this function run once more? Only if it changes nothing but its arguments."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Generator, Iterable
from types import CodeType, FunctionType, ModuleType
from typing import Any

_FORBIDDEN = {"STORE_GLOBAL", "DELETE_GLOBAL"}
_OUTSIDE = {"open", "input", "exec", "eval", "exit", "breakpoint", "setattr", "next"}
_DEEPEST = 4  # calls of the user's own functions that are followed


def is_repeatable(lib: Any, cls: Any) -> bool:
    """Tell whether calling a Function once more leaves the program as it is.

    False where its code writes a global, an outer variable or an attribute of its
    class, or gets hold of a list, a dict or an object of the program.
    """
    names = ("forward", "backward", "vjp", "setup_context")
    methods: list[Any] = [getattr(cls, name, None) for name in names]
    found = [inspect.unwrap(method) for method in methods]
    functions = [each for each in found if isinstance(each, FunctionType)]
    own = [each for each in functions if not _is_of(each, lib)]
    return all(_is_pure(lib, cls, function, _DEEPEST) for function in own)


def _is_of(function: FunctionType, lib: Any) -> bool:
    return function.__module__.partition(".")[0] == lib.__package__


def _is_pure(lib: Any, cls: Any, function: FunctionType, depth: int) -> bool:
    if not depth:
        return False
    codes = list(_codes(function.__code__))
    free = set(function.__code__.co_freevars)
    in_place = False
    names: set[str] = set()
    for code in codes:
        for each in dis.get_instructions(code):
            name = each.argval
            if each.opname in _FORBIDDEN:
                return False
            if each.opname == "STORE_DEREF" and name in free:
                return False
            if each.opname == "STORE_ATTR" and hasattr(cls, name):
                return False
            if each.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF"):
                names.add(name)
            in_place |= each.opname == "LOAD_METHOD" and name.endswith("_")
    held = _held(function, names)
    return not names & _OUTSIDE and all(
        _is_harmless(lib, cls, value, in_place, depth) for value in held
    )


def _codes(code: CodeType) -> Generator[CodeType, None, None]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def _held(function: FunctionType, names: Iterable[str]) -> list[Any]:
    """Return what the global and outer names of a function stand for."""
    cells = dict(
        zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    )
    found: list[Any] = []
    for name in names:
        if name in cells:
            try:
                found.append(cells[name].cell_contents)
            except ValueError:
                continue  # not assigned yet
        elif name in function.__globals__:
            found.append(function.__globals__[name])
    return found


def _is_harmless(lib: Any, cls: Any, value: Any, in_place: bool, depth: int) -> bool:
    if isinstance(value, type | ModuleType | bool | int | float | complex | str):
        return True
    if value is None or isinstance(value, bytes | frozenset | lib.dtype | lib.device):
        return True
    if isinstance(value, tuple):
        return all(_is_harmless(lib, cls, each, in_place, depth) for each in value)
    if isinstance(value, lib.Tensor):
        return not in_place
    value = inspect.unwrap(value)
    if isinstance(value, FunctionType) and not _is_of(value, lib):
        return _is_pure(lib, cls, value, depth - 1)
    return callable(value) and type(value).__module__ != "__main__"
