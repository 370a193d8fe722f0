"""The backend of sparse arrays: no memory that the engine could look into."""

from __future__ import annotations

from typing import Any

from .._backend import _BY_TYPE, NUMPY, Backend
from .array import NoMemoryError, SparseArray, refused


class SparseBackend:
    """What the engine asks of the library behind an array, answered for sparse ones."""

    name = "sparse"
    xp = NUMPY.xp
    array_type: type = SparseArray

    def pointer(self, array: Any) -> int:
        """Return nothing to point at."""
        return 0

    def flat(self, owner: Any) -> Any:
        """Refuse: there is no memory of all elements."""
        raise NoMemoryError("Cannot access storage of SparseTensorImpl")

    def strided(
        self,
        flat: Any,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        offset: int,
    ) -> Any:
        """Refuse: elements lie nowhere."""
        raise refused("as_strided")

    def to_host(self, array: Any) -> Any:
        """Return the array, which is in host memory."""
        return array

    def device_index(self, array: Any) -> int | None:
        """Return no number: there is one host."""
        return None


_SPARSE: Backend = SparseBackend()
_BY_TYPE[SparseArray] = _SPARSE
