"""SparseParts: the coordinates and values of a sparse array, and sums over both."""

from __future__ import annotations

from math import prod
from types import SimpleNamespace
from typing import Any, Self

import numpy as np


class SparseParts:
    """An array of which only some elements are kept, each with its coordinates.

    ``indices`` has a column per element and a row per sparse dimension; ``values`` may
    have further, dense dimensions. Coordinates may repeat: their values add up.
    """

    __slots__ = ("__weakref__", "coalesced", "indices", "shape", "values")

    base = None
    # In order, so that nobody lays them out anew, and not to be added to in place.
    flags = SimpleNamespace(
        c_contiguous=True, f_contiguous=False, forc=True, writeable=False
    )

    def __init__(
        self,
        indices: Any,
        values: Any,
        shape: tuple[int, ...],
        coalesced: bool = False,
    ) -> None:
        self.indices = indices
        self.values = values
        self.shape = shape
        self.coalesced = coalesced or indices.shape[1] < 2

    # ---- what arrays have ----------------------------------------------------------

    @property
    def dtype(self) -> Any:
        """The dtype of the values."""
        return self.values.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions, sparse and dense."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements, zeros included."""
        return prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes per value."""
        return self.values.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept."""
        return self.values.nbytes + self.indices.nbytes

    @property
    def strides(self) -> tuple[int, ...]:
        """Zeros: elements lie nowhere."""
        return (0,) * len(self.shape)

    @property
    def sparse_dim(self) -> int:
        """How many dimensions have coordinates."""
        return int(self.indices.shape[0])

    @property
    def places(self) -> tuple[Any, ...]:
        """The coordinates as an index into an array of this shape."""
        return tuple(self.indices)

    def with_values(self, values: Any, coalesced: bool | None = None) -> Self:
        """Return an array with other values at the same places."""
        found = type(self)(self.indices, values, self.shape, bool(coalesced))
        if coalesced is None:
            found.coalesced = self.coalesced
        return found

    def copy(self, order: str = "K") -> Self:
        """Return a copy with memory of its own."""
        found = self.with_values(self.values.copy())
        found.indices = self.indices.copy()
        return found

    def item(self) -> Any:
        """Return the only element as a Python number."""
        return self.values.sum().item()

    def astype(self, dtype: Any, copy: bool = True, **_: Any) -> Self:
        """Return the same with values of another dtype."""
        return self.with_values(self.values.astype(dtype, copy=copy))

    @property
    def real(self) -> Self:
        """The real parts."""
        return self.with_values(self.values.real)

    def conjugate(self) -> Self:
        """Return the complex conjugate."""
        return self.with_values(self.values.conjugate())

    def alias(self) -> Self:
        """Return another array over the same coordinates and values."""
        return self.with_values(self.values)

    def emptied(self, dtype: Any = None) -> Self:
        """Return an array of the same shape without any elements."""
        values = np.empty((0, *self.values.shape[1:]), dtype or self.dtype)
        return type(self)(self.indices[:, :0], values, self.shape, True)

    # ---- the two forms -------------------------------------------------------------

    def todense(self) -> Any:
        """Return the array with all its zeros."""
        found = np.zeros(self.shape, self.dtype)
        self.add_to(found)
        return found

    def add_to(self, dense: Any) -> None:
        """Add the values to an array of the same shape, in its memory."""
        once = self.coalesce()  # an index that repeats would be added to only once
        dense[once.places] += once.values if once.sparse_dim else once.values.sum(0)

    def coalesce(self) -> Self:
        """Return the same with every place once, in the order of rows."""
        if self.coalesced:
            return self
        flat = self.row_major_places()
        order = np.argsort(flat, kind="stable")
        begins = np.nonzero(np.diff(flat[order], prepend=-1))[0]
        values = np.add.reduceat(self.values[order], begins, axis=0)
        return type(self)(
            np.ascontiguousarray(self.indices[:, order[begins]]),
            values.astype(self.dtype, copy=False),
            self.shape,
            True,
        )

    def values_at(self, indices: Any) -> Any:
        """Return the elements at some coordinates, zeros included."""
        once = self.coalesce()
        wanted = type(self)(indices, once.values, self.shape).row_major_places()
        kept = once.row_major_places()
        at = np.searchsorted(kept, wanted)
        found = np.zeros((len(wanted), *self.values.shape[1:]), self.dtype)
        there = at < len(kept)
        there[there] = kept[at[there]] == wanted[there]
        found[there] = once.values[at[there]]
        return found

    def row_major_places(self) -> Any:
        """Return one number per element, in the order that rows have in memory."""
        flat = np.zeros(self.indices.shape[1], np.int64)
        for row, size in zip(self.indices, self.shape, strict=False):
            flat = flat * size + row
        return flat
