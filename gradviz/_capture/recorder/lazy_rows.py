"""A snapshot whose rows are made when someone reads the first of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from gradviz import ir

_FIELDS = tuple([field.name for field in fields(ir.Snapshot)])
_making = threading.RLock()


class _Later(ir.Snapshot):
    """A snapshot like any other to those who have it, but made late.

    A program that keeps pictures of its graphs waits for a look at each; most of them
    are never read. Slots that nothing was put in yet end in ``__getattr__``.
    """

    __slots__ = ("_make",)

    _make: Callable[[], ir.Snapshot] | None

    def __getattr__(self, name: str) -> Any:
        if name not in _FIELDS:
            raise AttributeError(f"'Snapshot' object has no attribute {name!r}")
        with _making:
            make = self._make
            if make is not None:
                made = make()
                for each in _FIELDS:
                    object.__setattr__(self, each, getattr(made, each))
                object.__setattr__(self, "_make", None)
        return object.__getattribute__(self, name)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ir.Snapshot):
            return NotImplemented
        return _values(self) == _values(other)

    __hash__ = ir.Snapshot.__hash__

    def __reduce__(self) -> Any:
        return ir.Snapshot, _values(self)


def later(make: Callable[[], ir.Snapshot]) -> ir.Snapshot:
    """Return the snapshot that ``make()`` gives, and call that when it is read."""
    snapshot = _Later.__new__(_Later)
    object.__setattr__(snapshot, "_make", make)
    return snapshot


def _values(snapshot: ir.Snapshot) -> tuple[Any, ...]:
    return tuple([getattr(snapshot, name) for name in _FIELDS])
