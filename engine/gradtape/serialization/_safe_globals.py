"""What a file may name when ``weights_only=True``, and what the user adds to that."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ._names import name_in_file

_allowed: dict[Any, None] = {}  # in the order in which they were added


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Let files name these functions and classes, and call them.

    An item is a function or class, or a tuple of it and the full name it has in files.

    >>> import io, collections, gradtape as torch
    >>> Point = collections.namedtuple("Point", "x y")
    >>> Point.__module__ = "shapes"
    >>> torch.serialization.add_safe_globals([Point])
    >>> torch.serialization.get_safe_globals() == [Point]
    True
    >>> torch.serialization.clear_safe_globals()
    """
    _allowed.update(dict.fromkeys(safe_globals))


def get_safe_globals() -> list[Any]:
    """Return what the user lets files name."""
    return list(_allowed)


def clear_safe_globals() -> None:
    """Forget everything that the user let files name."""
    _allowed.clear()


class safe_globals:
    """Let files name these functions and classes inside a ``with`` block."""

    def __init__(self, safe_globals: Iterable[Any]) -> None:
        self.safe_globals = list(safe_globals)

    def __enter__(self) -> None:
        add_safe_globals(self.safe_globals)

    def __exit__(self, *exception: object) -> None:
        for item in self.safe_globals:
            _allowed.pop(item, None)


def users_globals() -> dict[str, Any]:
    """Return what the user lets files name, by full name in files.

    Raises ValueError or TypeError for an item that is neither function nor tuple.
    """
    found: dict[str, Any] = {}
    for item in _allowed:
        if not isinstance(item, tuple):
            found[f"{item.__module__}.{item.__qualname__}"] = item
            known = name_in_file(item)
            if known is not None:
                found[".".join(known)] = item
            continue
        if len(item) != 2:
            raise ValueError(
                "Expected tuple of length 2 (global, str of callable full path), but "
                f"got tuple of length: {len(item)}"
            )
        if type(item[1]) is not str:
            raise TypeError(
                "Expected second item in tuple to be str of callable full path, but "
                f"got: {type(item[1])}"
            )
        found[item[1]] = item[0]
    return found
