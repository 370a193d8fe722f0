"""Calls that every pointwise op should stand: shapes, broadcasting, empty, 0-d."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ._record import Make, Sample, rough, sample

SHAPES: tuple[tuple[int, ...], ...] = ((), (3,), (2, 3), (2, 1, 3), (0,), (2, 0, 3))
PAIRS: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((2, 3), (2, 3)),
    ((2, 3), (3,)),
    ((3, 1), (1, 2)),
    ((2, 3), ()),
    ((), (3,)),
    ((), ()),
    ((0,), (1,)),
    ((2, 0), (1, 1)),
)


def unary(
    low: float = -2.0, high: float = 2.0, special: bool = True
) -> Callable[[Make], Iterator[Sample]]:
    """Return calls on one tensor with values between ``low`` and ``high``."""

    def samples(make: Make) -> Iterator[Sample]:
        for shape in SHAPES:
            yield sample(make(*shape, low=low, high=high))
        if special:
            yield rough(make.special())

    return samples


def binary(
    low: float = -2.0,
    high: float = 2.0,
    numbers: tuple[Any, ...] = (2.5, 2),
    special: bool = True,
) -> Callable[[Make], Iterator[Sample]]:
    """Return calls on two tensors that broadcast, and on a tensor and a number."""

    def samples(make: Make) -> Iterator[Sample]:
        for a, b in PAIRS:
            yield sample(make(*a, low=low, high=high), make(*b, low=low, high=high))
        for number in numbers:
            yield sample(make(2, 3, low=low, high=high), number)
        if special:
            values = make.special()
            yield rough(values[:, None], values)

    return samples
