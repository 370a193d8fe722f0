"""The CuPy backend; importing this file imports CuPy."""

from __future__ import annotations

from typing import Any

import cupy as cp  # type: ignore[import-not-found]


class CupyBackend:
    """Arrays in the memory of a CUDA device."""

    name = "cupy"
    xp: Any = cp
    array_type: type = cp.ndarray

    def count(self) -> int:
        """Return how many devices there are; without a driver, none."""
        try:
            return int(cp.cuda.runtime.getDeviceCount())
        except cp.cuda.runtime.CUDARuntimeError:
            return 0

    def pointer(self, array: Any) -> int:
        return int(array.data.ptr)

    def flat(self, owner: Any) -> Any:
        if owner.flags.c_contiguous:
            return owner.reshape(-1)
        span = 1 + sum(
            (n - 1) * s // owner.itemsize
            for n, s in zip(owner.shape, owner.strides, strict=True)
        )
        return cp.ndarray((span if owner.size else 0,), owner.dtype, owner.data)

    def strided(
        self,
        flat: Any,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        offset: int,
    ) -> Any:
        item = flat.itemsize
        steps = tuple(s * item for s in strides)
        return cp.ndarray(shape, flat.dtype, flat.data + offset * item, steps)

    def to_host(self, array: Any) -> Any:
        return cp.asnumpy(array)

    def device_index(self, array: Any) -> int | None:
        return int(array.device.id)
