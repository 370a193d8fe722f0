"""Varying: an integer that differs from run to run, because a dynamic axis does.

The exporter runs a model several times, each time with other lengths of the dynamic
axes. A size of which all runs agree stays an int; any other is the tuple of what each
run had. Arithmetic goes run by run, so a rule can compute with sizes as with ints.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Varying:
    """One integer per run, not all equal."""

    values: tuple[int, ...]

    def __add__(self, other: Length) -> Length:
        return _each(operator.add, self, other)

    def __radd__(self, other: Length) -> Length:
        return _each(operator.add, other, self)

    def __sub__(self, other: Length) -> Length:
        return _each(operator.sub, self, other)

    def __rsub__(self, other: Length) -> Length:
        return _each(operator.sub, other, self)

    def __mul__(self, other: Length) -> Length:
        return _each(operator.mul, self, other)

    def __rmul__(self, other: Length) -> Length:
        return _each(operator.mul, other, self)

    def __floordiv__(self, other: Length) -> Length:
        return _each(operator.floordiv, self, other)

    def __bool__(self) -> bool:
        return all(self.values)


Length: TypeAlias = int | Varying


def length_of(values: Sequence[int]) -> Length:
    """Return an int where all runs agree.

    >>> from gradtape.onnx._varying import length_of
    >>> length_of([3, 3, 3]), length_of([2, 3, 5]) * 2 + 1
    (3, Varying(values=(5, 7, 11)))
    """
    first = values[0]
    return first if all(v == first for v in values) else Varying(tuple(values))


def product(lengths: Sequence[Length]) -> Length:
    """Multiply lengths; 1 where there are none."""
    total: Length = 1
    for length in lengths:
        total = total * length
    return total


def _each(combine: Callable[[int, int], int], left: Length, right: Length) -> Length:
    runs = len(left.values if isinstance(left, Varying) else _values(right))
    lefts = left.values if isinstance(left, Varying) else (left,) * runs
    rights = right.values if isinstance(right, Varying) else (right,) * runs
    return length_of([combine(a, b) for a, b in zip(lefts, rights, strict=True)])


def _values(length: Length) -> tuple[int, ...]:
    assert isinstance(length, Varying)
    return length.values
