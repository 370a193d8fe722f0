"""Layout: how an output of a node lies in memory, one object for all that lie alike."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._common.compiled import compiled


class Layout(NamedTuple):
    """How one output of a node lies in memory. Strides count bytes, as NumPy's do."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Any  # the array library's dtype
    large: bool  # whether it pays to know who owns such memory; see ownership


LARGE = 1024
"""Elements from which owning a buffer pays; below, a copy costs less than asking."""

known_layouts: dict[Any, Layout] = {}
_LAYOUTS_KEPT = 65_536


def layout_of(array: Any) -> Layout:
    """Return the layout of an array, one object for all arrays that lie alike."""
    key = (array.shape, array.strides, array.dtype)
    found = known_layouts.get(key)
    if found is None:
        if len(known_layouts) >= _LAYOUTS_KEPT:
            known_layouts.clear()
        found = known_layouts[key] = Layout(*key, large=array.size > LARGE)
    return found


_known_strides: dict[Any, tuple[int, ...]] = {}


def element_strides(array: Any) -> tuple[int, ...]:
    """Return the strides of an array in elements, worked out once for all alike."""
    item = array.itemsize
    key = (array.strides, item)
    found = _known_strides.get(key)
    if found is None:
        if len(_known_strides) >= _LAYOUTS_KEPT:
            _known_strides.clear()
        found = _known_strides[key] = tuple([s // item for s in key[0]])
    return found


layout_of = compiled(layout_of)
element_strides = compiled(element_strides)
