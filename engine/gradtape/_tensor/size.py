"""`Size`: the shape of a tensor, a tuple of ints that prints as PyTorch's."""

from __future__ import annotations

import math
from collections.abc import Iterable
from operator import index
from typing import SupportsIndex, cast, overload

__all__ = ["Size"]


class Size(tuple[int, ...]):
    """Hold the lengths of a tensor's dimensions, outermost first.

    Slices, sums and repetitions are sizes too. Items may be anything that is an
    integer by `__index__`; others raise TypeError.

    >>> Size([2, 3]) + (4,)
    torch.Size([2, 3, 4])
    >>> Size([2, 3]).numel()
    6
    """

    __module__ = "gradtape"

    __slots__ = ()

    def __new__(cls, iterable: Iterable[SupportsIndex] = (), /) -> Size:
        items = tuple(iterable)
        return super().__new__(cls, map(_as_int, range(len(items)), items))

    def numel(self) -> int:
        """Return the number of elements in a tensor of this size."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(repr, self))}])"

    def __add__(self, other: object) -> Size:  # type: ignore[override]
        if not isinstance(other, tuple):
            raise TypeError(
                f"can only concatenate tuple (not {type(other).__name__}) to torch.Size"
            )
        return Size((*self, *cast("tuple[int, ...]", other)))

    def __radd__(self, other: object) -> Size:
        if not isinstance(other, tuple):
            return NotImplemented
        return Size((*cast("tuple[int, ...]", other), *self))

    def __mul__(self, count: SupportsIndex) -> Size:
        return Size(tuple(self) * count)

    __rmul__ = __mul__

    @overload
    def __getitem__(self, key: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, key: slice) -> Size: ...
    def __getitem__(self, key: SupportsIndex | slice) -> int | Size:
        found = super().__getitem__(key)
        return Size(found) if isinstance(found, tuple) else found

    def __reduce__(self) -> tuple[type[Size], tuple[tuple[int, ...]]]:
        return Size, (tuple(self),)


def _as_int(position: int, item: SupportsIndex) -> int:
    if type(item) is int:
        return item
    try:
        return index(item)
    except TypeError:
        raise TypeError(
            "torch.Size() takes an iterable of 'int' "
            f"(item {position} is '{type(item).__name__}')"
        ) from None
