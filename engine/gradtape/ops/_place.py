"""Putting new arrays on their device and into tensors; honouring ``out=``."""

from __future__ import annotations

from typing import Any

from .._backend import NUMPY, cupy_backend
from .._device import default_device
from .._device import device as Device
from .._dtypes import dtype as DType
from .._out import store
from .._random_target import memory_order
from .._tensor import Tensor, wrap

_NO_GRADIENTS = (
    "Only Tensors of floating point and complex dtype can require gradients"
)

def module_on(where: Any) -> Any:
    """Return the array module whose arrays live on a device.

    Raises RuntimeError for a device that no array library here serves.
    """
    if where is None:
        where = default_device()
    place = where if isinstance(where, Device) else Device(where)
    if place.type == "cpu":
        return NUMPY.xp
    if place.type != "cuda":
        raise RuntimeError(f"tensors on the device '{place}' are not supported")
    xp = cupy_backend().xp
    if place.index is not None:
        xp.cuda.Device(place.index).use()
    return xp


def made(array: Any, requires_grad: bool = False) -> Tensor:
    """Return a new leaf over ``array``, which is nobody else's."""
    tensor = wrap(array)
    if requires_grad:
        if array.dtype.kind not in "fcV":
            raise RuntimeError(_NO_GRADIENTS)
        tensor._needs = True
    return tensor


def deliver(array: Any, out: Tensor | None, requires_grad: bool = False) -> Tensor:
    """Return a new leaf over ``array``, or ``out`` after writing into it."""
    if out is None:
        return made(array, requires_grad)
    if not isinstance(out, Tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"argument 'out' must be Tensor, not {type(out).__name__}")
    store(out, array, "copy")
    return out


def empty_like_array(xp: Any, array: Any, dtype: DType | None = None) -> Any:
    """Return a new array of the shape and memory order of another."""
    kind = array.dtype if dtype is None else dtype.numpy
    if array.flags.c_contiguous or array.ndim < 2 or not array.size:
        return xp.empty(array.shape, kind)
    order = memory_order(array)
    dense = xp.empty(tuple(array.shape[d] for d in order), kind)
    places = [order.index(d) for d in range(array.ndim)]
    return dense.transpose(places)
