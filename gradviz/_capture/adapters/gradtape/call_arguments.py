"""Arguments and results of gradtape's calls as plain values for the program log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape._debug import Tensor
from gradviz.program.noted import Glance
from gradviz.program.values import Opaque

_LONGEST = 64  # elements that are kept of a list among the arguments
_DEEPEST = 4

ATOMS = frozenset((type(None), bool, int, float, complex, str, type(Ellipsis)))
"""What goes into the log as it is."""


def plain(
    value: Any,
    look: Callable[[Tensor], Glance],
    tensors: list[Tensor],
    values: list[Glance],
    depth: int = 0,
) -> Any:
    """Return an argument with glances for tensors; add what it has to the lists."""
    if type(value) in ATOMS:
        return value
    if isinstance(value, Tensor):
        found = look(value)
        tensors.append(value)
        values.append(found)
        return found
    if isinstance(value, (list, tuple)):
        if depth == _DEEPEST or len(value) > _LONGEST:
            for each in value:
                if isinstance(each, Tensor):
                    plain(each, look, tensors, values)
            return Opaque.of(value)
        return tuple([plain(each, look, tensors, values, depth + 1) for each in value])
    if isinstance(value, dict):
        return {
            key: plain(each, look, tensors, values, depth + 1)
            for key, each in list(value.items())[:_LONGEST]
            if isinstance(key, str)
        }
    if isinstance(value, slice):
        parts = (value.start, value.stop, value.step)
        return slice(*[plain(each, look, tensors, values, depth + 1) for each in parts])
    if isinstance(value, np.number | np.bool_):
        return value.item()
    if type(value).__name__ in ("dtype", "device"):
        return str(value).removeprefix("torch.")
    return Opaque.of(value)


def region(glance: Glance, target: Tensor, index: Any) -> Glance:
    """Return a glance at ``target[index]``, where an index without tensors says it."""
    data, places = target._data, index if isinstance(index, tuple) else (index,)
    if type(data) is not np.ndarray or not all(_is_basic(place) for place in places):
        return glance
    part = data[(*places, ...) if Ellipsis not in places else places]
    item = data.itemsize
    start = part.__array_interface__["data"][0] - data.__array_interface__["data"][0]
    strides = tuple([step // item for step in part.strides])
    offset = target.storage_offset() + (start // item if part.size else 0)
    return *glance[:3], part.shape, strides, offset, *glance[6:]


def _is_basic(place: Any) -> bool:
    if isinstance(place, slice):
        return all(_is_basic(each) for each in (place.start, place.stop, place.step))
    return place is None or place is Ellipsis or type(place) is int
