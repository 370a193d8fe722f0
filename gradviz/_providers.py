"""What a room asks of a room above it, which it may not import: the root finds it.

A view of a tensor needs a capture, and a capture shows itself in a view. So the rooms
that show know no capture: they ask here, by name, and ``gradviz/__init__.py``, which
is imported before any room, has said how each name is found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_find: dict[str, Callable[[], Any]] = {}


def provide(name: str, find: Callable[[], Any]) -> None:
    """Say how something that upper rooms provide is found, when it is asked for."""
    _find[name] = find


def provided(name: str) -> Any:
    """Return what an upper room provides under this name."""
    return _find[name]()
