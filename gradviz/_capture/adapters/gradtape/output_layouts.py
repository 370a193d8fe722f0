"""How arrays lie in memory, as the log says it: each kind of layout once."""

from __future__ import annotations

from typing import Any, TypeAlias

_MOST = 4_096

Layout: TypeAlias = tuple[tuple[int, ...], tuple[int, ...], str, Any]
"""Shape, strides in elements, the dtype's name, and what the id in a key belongs to."""

known_layouts: dict[tuple[tuple[int, ...], tuple[int, ...], int], Layout] = {}
"""By shape, strides in bytes and the id of the dtype, which NumPy is slow to hash."""

engine_layouts: dict[int, Layout] = {}
"""By the id of the engine's own record of a layout."""


def new_layout(array: Any) -> Layout:
    """Describe the layout of an array."""
    dtype = array.dtype
    known = *_described(array), dtype
    if len(known_layouts) < _MOST:
        known_layouts[array.shape, array.strides, id(dtype)] = known
    return known


def new_engine_layout(layout: Any) -> Layout:
    """Describe a layout that the engine has a record of."""
    known = *_described(layout), layout
    if len(engine_layouts) < _MOST:
        engine_layouts[id(layout)] = known
    return known


def _described(thing: Any) -> tuple[tuple[int, ...], tuple[int, ...], str]:
    size, dtype = thing.dtype.itemsize, str(thing.dtype.name)
    return thing.shape, tuple([step // size for step in thing.strides]), dtype
