"""Which names of the program hold a tensor: variables, items of lists, attributes."""

from __future__ import annotations

import inspect
import os
import sys
import sysconfig
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from types import FrameType
from typing import Any

from gradviz._capture.names.tensors import locals_of
from gradviz._capture.names.user_code import is_own_file
from gradviz.program.log import is_host_file

_DEPTH = 3  # "history[0]['loss']" and no further
_ITEMS = 64  # of one container
_FRAMES = 6
_BUDGET = 5_000  # values looked at


def holders_in(
    frame: FrameType | None, tensor_type: type
) -> dict[int, tuple[str, ...]]:
    """Map ``id(tensor)`` to the names that hold it, the shortest first.

    Looked at are the variables of the frame, of the frames that called it and of the
    main program, what lists, tuples and dicts hold, and attributes of the program's
    own objects. Nothing is kept, and what cannot be looked at is left out.
    """
    found: dict[int, list[str]] = defaultdict(list)
    for name, value in _walk(list(_variables(frame))):
        if isinstance(value, tensor_type) and name not in found[id(value)]:
            found[id(value)].append(name)
    return {key: tuple(names) for key, names in found.items() if names}


def _variables(frame: FrameType | None) -> Iterator[tuple[str, Any]]:
    frames = 0
    while frame is not None and frames < _FRAMES:
        code = frame.f_code
        if code.co_flags & inspect.CO_OPTIMIZED and not _is_library(code.co_filename):
            frames += 1
            yield from locals_of(frame).items()
        frame = frame.f_back
    yield from list(vars(sys.modules["__main__"]).items())


def _walk(waiting: list[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    left, seen = _BUDGET, set[int]()
    for _ in range(_DEPTH + 1):
        level, waiting = waiting, []
        for name, value in level:
            if name.startswith("_") or not left:
                continue
            left -= 1
            yield name, value
            if id(value) not in seen:
                seen.add(id(value))
                try:
                    waiting += _inside(name, value)
                except Exception:
                    continue  # another thread changed it meanwhile, or it is odd


def _inside(name: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        pairs = list(islice(value.items(), _ITEMS))
        return [(f"{name}[{key!r}]", v) for key, v in pairs if _plain(key)]
    if isinstance(value, list | tuple):
        return [(f"{name}[{at}]", v) for at, v in enumerate(value[:_ITEMS])]
    if is_users(type(value)):
        own = list(islice(getattr(value, "__dict__", {}).items(), _ITEMS))
        return [(f"{name}.{key}", v) for key, v in own if not key.startswith("_")]
    return []


def _plain(key: object) -> bool:
    return isinstance(key, str | int)


def is_users(cls: type) -> bool:
    """Tell whether instances of a class are the program's own, not a library's."""
    if cls.__module__ == "__main__":
        return True
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return isinstance(file, str) and not _is_library(file)


def _is_library(file: str) -> bool:
    return is_own_file(file) or is_host_file(file) or file.startswith(_LIBRARIES)


def _folders() -> tuple[str, ...]:
    """Return where the standard library and installed packages lie, and the engine."""
    paths = sysconfig.get_paths()
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    found = {paths[name] + os.sep for name in names}
    return (*found, "<frozen")


_LIBRARIES = _folders()
