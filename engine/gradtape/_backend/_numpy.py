"""The NumPy backend."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ._heap import learn

learn()


class NumpyBackend:
    """Arrays in host memory."""

    name = "numpy"
    xp = np
    array_type = np.ndarray

    def pointer(self, array: Any) -> int:
        return int(array.__array_interface__["data"][0])

    def flat(self, owner: Any) -> Any:
        if owner.flags.c_contiguous:
            return owner.reshape(-1)
        span = 1 + sum(
            (n - 1) * s // owner.itemsize
            for n, s in zip(owner.shape, owner.strides, strict=True)
        )
        return as_strided(owner, (span if owner.size else 0,), (owner.itemsize,))

    def strided(
        self,
        flat: Any,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        offset: int,
    ) -> Any:
        item = flat.itemsize
        start = 0 if 0 in shape else offset * item  # an empty view may begin anywhere
        steps = tuple(s * item for s in strides)
        view = np.ndarray(shape, flat.dtype, flat, start, steps)
        view.flags.writeable = flat.flags.writeable
        return view

    def to_host(self, array: Any) -> Any:
        return array

    def device_index(self, array: Any) -> int | None:
        return None
