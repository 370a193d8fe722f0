"""Putting new arrays on their device and into tensors; honouring ``out=``."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from ..._backend import META, NUMPY, backend_of, cupy_backend
from ..._backend.device import default_device
from ..._backend.device import device as Device
from ..._common.absent import no_device
from ..._common.messages import CAST_REFUSED, NEW_LEAF_DTYPE
from ..._common.site import user_stacklevel
from ..._common.type_name import type_name
from ..._dispatch.inplace import note_write
from ..._dispatch.out_checks import refusal
from ..._dtypes import DTYPE_OF, can_cast
from ..._dtypes import dtype as DType
from ..._modes.grad_mode import mode
from ..._sparse.array import SparseArray
from ..._storage.result_strides import sorted_dims
from ..._tensor.overlap import check_overlap
from ..._tensor.tensor import Tensor, wrap
from ..._tensor.write_observers import before_write
from ..memory.memory_format import check_layout


def module_on(where: Any) -> Any:
    """Return the array module whose arrays live on a device.

    Raises PyTorch's error for a device that no array library here serves.
    """
    if where is None:
        where = default_device()
    place = where if isinstance(where, Device) else Device(where)
    if place.type == "cpu":
        return NUMPY.xp
    if place.type == "meta":
        return META.xp
    if place.type != "cuda":
        raise no_device(place.type)
    xp = cupy_backend().xp
    if place.index is not None:
        xp.cuda.Device(place.index).use()
    return xp


def made(array: Any, requires_grad: bool = False) -> Tensor:
    """Return a new leaf over ``array``, which is nobody else's."""
    profile = mode.now.profile
    if profile is not None:
        profile.took(array)
    tensor = wrap(array)
    if requires_grad:
        if array.dtype.kind not in "fcV":
            raise RuntimeError(NEW_LEAF_DTYPE)
        tensor.requires_grad = True
    return tensor


def check_out(
    out: Tensor | None, dtype: Any = None, layout: Any = None, device: Any = None
) -> None:
    """Refuse options of a creation function that an ``out=`` beside them has not.

    Raises RuntimeError with the option that differs, or for a layout that is not here.
    """
    if layout is not None:
        check_layout(layout)
    if not isinstance(out, Tensor):
        return
    if isinstance(dtype, DType) and dtype is not out.dtype:
        raise RuntimeError(
            f"dtype {dtype.cpp_name} does not match dtype of out parameter "
            f"({out.dtype.cpp_name})"
        )
    own: Any = out.layout  # type: ignore[attr-defined]
    if layout is not None and layout is not own:
        names = [f"{each}"[6:].partition("_")[0].title() for each in (layout, own)]
        raise RuntimeError(
            "layout {} does not match layout of out parameter ({})".format(*names)
        )
    if device is not None and Device(device).type != out.device.type:
        raise RuntimeError(
            f"device type {Device(device).type} does not match device type of out "
            f"parameter ({out.device.type})"
        )


def warn_of_count(out: Tensor | None, count: int) -> None:
    """Warn that a range will resize an ``out=`` that has another number of elements."""
    if isinstance(out, Tensor) and out._data.size not in (0, count):
        warnings.warn(
            "The number of elements in the out tensor of shape "
            f"{list(out._data.shape)} is {out._data.size} which does not match the "
            f"computed number of elements {count}. Note that this may occur as a "
            "result of rounding error. The out tensor will be resized to a tensor of "
            f"shape ({count},).",
            UserWarning,
            stacklevel=user_stacklevel(),
        )


_EQUAL = {"arange", "eye", "full", "linspace", "logspace", "ones", "range", "zeros"}
"""Functions that make the same tensor each time; the others draw or read memory."""


def deliver(
    array: Any,
    out: Tensor | None,
    requires_grad: bool = False,
    *,
    row: bool = False,
    name: str = "",
) -> Tensor:
    """Return a new leaf over ``array``, or ``out`` after writing into it.

    An ``out`` that requires grad is refused, under the ``name`` of PyTorch's function.
    A ``row`` fills an ``out`` of as many elements in whatever shape that has. Raises
    RuntimeError where elements of such an ``out`` share a cell.
    """
    if out is None:
        found = made(array, requires_grad)
        if mode.now.watch is not None and name in _EQUAL:
            mode.now.watch.same_for_all(found)
        return found
    if not isinstance(out, Tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"argument 'out' must be Tensor, not {type_name(out)}")
    if out.requires_grad and mode.grad:
        if name:
            raise refusal(f"aten::{name}")
        raise RuntimeError("cannot resize variables that require grad")
    if row and out._data.size == array.size:
        array = array.reshape(out._data.shape)
    if out._data.shape != array.shape:
        out._resize_output_(array.shape)  # type: ignore[attr-defined]
    if row:
        check_overlap(out)
    result = DTYPE_OF[array.dtype]
    if not can_cast(result, out.dtype):
        raise RuntimeError(
            CAST_REFUSED.format(result=result.cpp_name, output=out.dtype.cpp_name)
        )
    for look in before_write:
        look(out)
    mode.run(out._data.__setitem__, ..., array)
    note_write(out, "out")
    if requires_grad:
        out.requires_grad = True
    return out


def memory_order(
    shape: tuple[int, ...], operands: Sequence[tuple[int, ...]]
) -> list[int]:
    """Return the dimensions of a result from the outermost in memory to the innermost.

    The strides of the operands decide, earlier operands first; a stride of 0 has no
    say, and where none has, the dimensions stay in their order.
    """
    return sorted_dims(shape, operands)[::-1]


def row_major(xp: Any, array: Any) -> Any:
    """Return an array in row-major order with the strides that a new one would have.

    NumPy leaves any stride to dimensions of size 1.
    """
    dense = array if array.flags.c_contiguous else xp.ascontiguousarray(array)
    return dense.reshape(-1).reshape(array.shape) if 1 in array.shape else dense


def is_dense(array: Any) -> bool:
    """Tell whether the elements fill their memory: no gaps, none shared."""
    expected = array.itemsize
    for stride, length in sorted(zip(array.strides, array.shape, strict=True)):
        if length != 1:
            if stride != expected:
                return False
            expected *= length
    return True


def array_like(xp: Any, array: Any, dtype: DType | None = None) -> Any:
    """Return a new array of the shape and memory order of another."""
    kind = array.dtype if dtype is None else dtype.numpy
    if type(array) is SparseArray:
        return array.emptied(kind)
    if array.flags.c_contiguous and array.size and 1 not in array.shape:
        return xp.empty(array.shape, kind)
    if not array.size or is_dense(array):
        steps = tuple(s // array.itemsize for s in array.strides)
        flat = xp.empty(array.size, kind)
        return backend_of(flat).strided(flat, array.shape, steps, 0)
    order = memory_order(array.shape, [array.strides])
    dense = xp.empty(tuple(array.shape[d] for d in order), kind)
    places = [order.index(d) for d in range(array.ndim)]
    return dense.transpose(places)


def dense_copy(xp: Any, array: Any) -> Any:
    """Return a copy that lies as the array does, without gaps."""
    copy = array_like(xp, array)
    copy[...] = array
    return copy
