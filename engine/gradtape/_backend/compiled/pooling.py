"""The largest of the four cells of windows that cover a plane, and the way back."""

from __future__ import annotations

from typing import Any

from ._jit import inlined, kernel


@inlined
def _wins(value: Any, best: Any) -> Any:
    return (value > best) | (value != value)  # NaN wins, and of several the last


@kernel("f4[:,:,::1], i8[:,:,::1], f4[:,:,::1]")
def largest_of_four(found: Any, indices: Any, planes: Any) -> None:
    """Write each window's first largest value, and its flat index in the plane."""
    width = planes.shape[2]
    for plane in range(found.shape[0]):
        for row in range(found.shape[1]):
            upper, lower = planes[plane, 2 * row], planes[plane, 2 * row + 1]
            values, places = found[plane, row], indices[plane, row]
            for column in range(found.shape[2]):
                begin = 2 * (row * width + column)
                best, place = upper[2 * column], begin
                value = upper[2 * column + 1]
                place = begin + 1 if _wins(value, best) else place
                best = value if _wins(value, best) else best
                value = lower[2 * column]
                place = begin + width if _wins(value, best) else place
                best = value if _wins(value, best) else best
                value = lower[2 * column + 1]
                place = begin + width + 1 if _wins(value, best) else place
                best = value if _wins(value, best) else best
                values[column], places[column] = best, place


@kernel("f4[:,::1], f4[:,::1], i8[:,::1]")
def scatter(found: Any, values: Any, indices: Any) -> None:
    """Add values to empty planes at flat indices; those outside count for nothing."""
    for plane in range(found.shape[0]):
        into = found[plane]
        into[:] = 0
        for i in range(values.shape[1]):
            place = indices[plane, i]
            if 0 <= place < into.size:
                into[place] += values[plane, i]
