"""Axes: what each dimension of a tensor is, and where it came from.

A dimension of data is an axis of its own from the moment it comes in. An op keeps an
axis, moves it, picks from it, merges it with others, or makes a new one; where two
tensors meet element by element, their axes are the same for that call.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from math import prod
from typing import Literal, TypeAlias

from gradviz.program import Call, Value

How: TypeAlias = Literal[
    "given",  # it came in with the data, or was made new by a call
    "made",  # a call computed it from something else: features, channels
    "picked",  # some of the elements, or all in another order
    "moved",  # flipped or rolled
    "part",  # one of the factors that a view took an axis apart into
    "mixed",  # a view put elements of several axes into it
    "scanned",  # a sequence layer went along it, or attention compared along it
    "beside",  # a sequence layer took its elements one by one
    "dropped",  # an axis beside it is gone: one element was picked, or all averaged
    "normalised",  # a softmax made its elements sum to 1
    "kept",  # a window went along it: convolution, pooling
]

MOST_AXES = 6  # that one dimension may be at a time
_PICKING = ("index", "numbers", "unknown")
_DEEPEST = 40  # links of a chain of axes


@dataclass(frozen=True, slots=True)
class Move:
    """One choice of elements along an axis, or a change of their order."""

    what: Literal["index", "numbers", "slice", "flip", "roll", "unknown"]
    token: Hashable  # equal for two axes: the same elements in the same order
    call: Call


Moves: TypeAlias = tuple[Move, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """One dimension of data, or what calls have made of one."""

    size: int
    how: How
    call: Call | None = None  # that gave it; None: the tensor was there before
    value: Value | None = None  # a tensor that it came in with
    dim: int = 0  # of that tensor
    parent: Axis | None = None
    token: Hashable = None
    depth: int = 0
    moves: Moves = ()  # since it came in
    merged: tuple[Factor, ...] = ()  # the dimension of several that it was picked from

    @property
    def root(self) -> Axis:
        """The axis that came in."""
        axis = self
        while axis.parent is not None:
            axis = axis.parent
        return axis

    def behind(self) -> Iterable[Axis]:
        """Yield the axis and what it was made of, latest first."""
        axis: Axis | None = self
        while axis is not None:
            yield axis
            axis = axis.parent

    def picked_with(self, other: Axis) -> bool:
        """Tell whether one index, or one list of numbers, picked from both."""
        tokens = {each.token for each in self.moves if each.what in _PICKING}
        return any(e.what in _PICKING and e.token in tokens for e in other.moves)

    def derived(
        self,
        how: How,
        call: Call,
        size: int | None = None,
        *,
        token: Hashable = None,
        move: Move | None = None,
    ) -> Axis:
        """Return an axis that a call made of this one."""
        size = self.size if size is None else size
        if self.depth >= _DEEPEST:
            return Axis(size, "made", call)
        moves = self.moves if move is None else (*self.moves, move)
        return Axis(
            size, how, call, None, 0, self, token, self.depth + 1, moves
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Factor:
    """What a dimension, or a part of one, runs over: one axis, or several as one."""

    axes: tuple[Axis, ...]
    size: int

    def each(self, how: How, call: Call, size: int | None = None) -> Factor:
        """Return what a call makes of it."""
        axes = tuple([axis.derived(how, call, size) for axis in self.axes])
        return Factor(axes, self.size if size is None else size)

    def moved(self, move: Move, size: int) -> Factor:
        """Return it after elements were chosen, or put into another order."""
        how: How = "moved" if move.what in ("flip", "roll") else "picked"
        axes = [axis.derived(how, move.call, size, move=move) for axis in self.axes]
        return Factor(tuple(axes), size)


Dim: TypeAlias = tuple[Factor, ...]
"""A dimension: its factors, outermost first; of one element, none."""

Dims: TypeAlias = tuple[Dim, ...]


def new(shape: Iterable[int], how: How, call: Call | None, value: Value | None) -> Dims:
    """Return axes of their own for all dimensions."""
    return tuple(
        [
            (Factor((Axis(size, how, call, value, dim),), size),) if size != 1 else ()
            for dim, size in enumerate(shape)
        ]
    )


def fits(dims: Dims | None, shape: tuple[int, ...]) -> bool:
    """Tell whether dimensions are those of a shape."""
    return dims is not None and len(dims) == len(shape) and all(
        prod([factor.size for factor in dim]) == size
        for dim, size in zip(dims, shape, strict=True)
    )  # fmt: skip


def joined(one: Dim, other: Dim) -> Dim:
    """Return a dimension in which two meet element by element."""
    if not other or one == other:
        return one
    if not one or len(one) < len(other):
        return other
    if len(other) < len(one):
        return one
    return tuple([_both(a, b) for a, b in zip(one, other, strict=True)])


def _both(one: Factor, other: Factor) -> Factor:
    if one.size != other.size:
        return one
    axes = dict.fromkeys((*one.axes, *other.axes))
    return (
        one if len(axes) == len(one.axes) else Factor(tuple(axes)[:MOST_AXES], one.size)
    )


def axes_in(dim: Dim) -> list[Axis]:
    """Return the axes that a dimension is made of."""
    return [axis for factor in dim for axis in factor.axes]


def only(dim: Dim) -> tuple[Axis, ...]:
    """Return the axes of a dimension that was not merged of several."""
    return dim[0].axes if len(dim) == 1 else ()
