"""A stand-in for CuPy's arrays: NumPy's, which refuse to meet NumPy's.

They tell whether the engine hands arrays to the module they belong to, and never mixes
host and device. What a real device computes, and how fast, they say nothing about.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.lib.stride_tricks import as_strided

LACKING = (
    *("block", "einsum_path", "errstate", "frompyfunc", "geomspace", "insert"),
    *("nanpercentile", "nanquantile", "ndenumerate", "nditer", "polyder", "polydiv"),
    *("polyint", "setbufsize", "seterr", "spacing", "unstack", "vecdot"),
)
"""Functions of NumPy that CuPy 14 has not."""


class Pointer:
    """A place in memory: bytes, and how far into them."""

    def __init__(self, memory: Any, offset: int) -> None:
        self.memory, self.offset = memory, offset

    @property
    def ptr(self) -> int:
        return int(self.memory.__array_interface__["data"][0]) + self.offset

    def __add__(self, offset: int) -> Pointer:
        return Pointer(self.memory, self.offset + offset)


class Device:
    """The one device there is."""

    def __init__(self, index: int = 0) -> None:
        if index != 0:
            raise ValueError(f"invalid device {index}")
        self.id = index

    def use(self) -> None: ...

    def synchronize(self) -> None: ...

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *exc: object) -> None: ...

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device)

    __hash__ = object.__hash__


class ndarray(NDArrayOperatorsMixin):  # noqa: N801 - CuPy's name
    """An array that NumPy's functions may not read."""

    device = Device()

    def __init__(
        self, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None
    ) -> None:
        if memptr is None:
            self.host = np.empty(shape, dtype)
            return
        start = 0 if 0 in np.atleast_1d(shape) else memptr.offset
        self.host = np.ndarray(shape, dtype, memptr.memory, start, strides)

    @property
    def data(self) -> Pointer:
        root = self.host
        while isinstance(root.base, np.ndarray):
            root = root.base
        whole = as_strided(root, (root.size,), (root.itemsize,))
        flat = whole.view(np.uint8) if root.size else root
        begin = root.__array_interface__["data"][0]
        return Pointer(flat, self.host.__array_interface__["data"][0] - begin)

    def get(self) -> Any:
        return self.host.copy()

    def item(self, *index: int) -> Any:
        return self.host.item(*index)

    def tolist(self) -> Any:
        return self.host.tolist()

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **named: Any) -> Any:
        return on_device(getattr(ufunc, method), args, named)

    def __array_function__(self, function: Any, _: Any, args: Any, named: Any) -> Any:
        return on_device(function, args, named)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.host, name)
        if callable(found):
            return lambda *args, **named: on_device(found, args, named)
        return lifted(found)

    def __getitem__(self, index: Any) -> Any:
        return on_device(self.host.__getitem__, (index,), {})

    def __setitem__(self, index: Any, value: Any) -> None:
        on_device(self.host.__setitem__, (index, value), {})

    def __len__(self) -> int:
        return len(self.host)

    def __bool__(self) -> bool:
        return bool(self.host)

    def __int__(self) -> int:
        return int(self.host)

    def __float__(self) -> float:
        return float(self.host)

    def __complex__(self) -> complex:
        return complex(self.host)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"on device: {self.host!r}"


ndarray.__module__ = "cupy"


def over(host: Any) -> ndarray:
    """Return a device array over memory of NumPy."""
    found = object.__new__(ndarray)
    found.host = host
    return found


def lifted(value: Any) -> Any:
    """Bring what NumPy found onto the device."""
    if isinstance(value, np.ndarray):
        return over(value)
    if isinstance(value, tuple | list) and type(value) in (tuple, list):
        return type(value)(lifted(each) for each in value)
    return over(np.asarray(value)) if isinstance(value, np.generic) else value


def lowered(value: Any) -> Any:
    """Take the memory out of device arrays; refuse arrays of NumPy."""
    if isinstance(value, ndarray):
        return value.host
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    if type(value) in (tuple, list):
        return type(value)(lowered(each) for each in value)
    if isinstance(value, dict):
        return {key: lowered(each) for key, each in value.items()}
    return value


def on_device(function: Any, args: Any, named: Any) -> Any:
    """Call a function of NumPy on device arrays."""
    return lifted(function(*lowered(tuple(args)), **lowered(named)))
