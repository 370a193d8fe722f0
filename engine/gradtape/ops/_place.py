"""Putting new arrays on their device and into tensors; honouring ``out=``."""

from __future__ import annotations

import warnings
from typing import Any

from .._backend import NUMPY, cupy_backend
from .._device import default_device
from .._device import device as Device
from .._dtypes import can_cast
from .._dtypes import dtype as DType
from .._random_target import memory_order
from .._run import legacy_type_name
from .._tensor import Tensor, wrap

_NO_GRADIENTS = (
    "Only Tensors of floating point and complex dtype can require gradients"
)
_RESIZED = (
    "An output with one or more elements was resized since it had shape {old}, which "
    "does not match the required output shape {new}. This behavior is deprecated, and "
    "in a future PyTorch release outputs will not be resized unless they have zero "
    "elements. You can explicitly reuse an out tensor t by resizing it, inplace, to "
    "zero elements with t.resize_(0)."
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
    result = wrap(array)
    if not can_cast(result.dtype, out.dtype):
        names = [legacy_type_name(t.dtype)[6:].removesuffix("Tensor") for t in (result, out)]
        raise RuntimeError(
            f"result type {names[0]} can't be cast to the desired output type {names[1]}"
        )
    if out._data.shape != array.shape:
        if out.numel():
            warnings.warn(
                _RESIZED.format(old=list(out.shape), new=list(array.shape)),
                UserWarning,
                stacklevel=4,
            )
        out.resize_(array.shape)
    out.copy_(result)
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
