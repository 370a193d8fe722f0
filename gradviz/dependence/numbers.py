"""The plain numbers among what a call was given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gradviz.program import Call, Opaque
from gradviz.program.places import Places

TRIVIAL = frozenset((0.0, 1.0, -1.0))
"""Numbers that say nothing about their origin."""


def numbers_in(given: Any) -> Iterator[float]:
    """Yield the floats in nested lists, tuples and plain values.

    >>> list(numbers_in([1, (2.5, [True])]))
    [2.5]
    """
    if isinstance(given, float):
        yield given
    elif isinstance(given, list | tuple):
        for each in given:  # pyright: ignore[reportUnknownVariableType]
            yield from numbers_in(each)


def carried_in(call: Call, places: Places) -> list[float]:
    """Return the floats given to a call that its file does not spell out itself.

    That something measured 0.5 says nothing about a `0.5 *` of the program.
    """
    given = numbers_in((*call.arguments, *call.keywords.values()))
    spelt = places.literals(call.site[0].co_filename) if call.site else frozenset()
    return [each for each in given if abs(each) not in spelt]


def integers_in(given: Any) -> Iterator[int]:
    """Yield the integers in nested tuples and plain values, not the booleans."""
    if isinstance(given, int) and not isinstance(given, bool):
        yield given
    elif isinstance(given, tuple):
        for each in given:  # pyright: ignore[reportUnknownVariableType]
            yield from integers_in(each)


def is_foreign(given: tuple[Any, ...]) -> bool:
    """Return whether an array, or a list of numbers, is among arguments."""
    return any(
        isinstance(each, list | tuple)
        or (isinstance(each, Opaque) and "array" in each.kind)
        for each in given
    ) or any(isinstance(each, float) for each in given)
