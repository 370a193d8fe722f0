"""Setting several flags of a backend for the length of a block."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


def set_all(module: dict[str, Any], values: dict[str, Any]) -> tuple[Any, ...]:
    """Set the flags whose value is not None; return what all of them were."""
    before = tuple(module[name] for name in values)
    module.update({name: value for name, value in values.items() if value is not None})
    return before


@contextmanager
def flags_of(module: dict[str, Any], values: dict[str, Any]) -> Generator[None]:
    """Set flags and restore them at the end of the block."""
    before = set_all(module, values)
    try:
        yield
    finally:
        module.update(zip(values, before, strict=True))
