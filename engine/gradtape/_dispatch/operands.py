"""The operands of a call: their arrays, in one dtype and on one device, or an error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._backend import META, backend_of
from .._common import messages as _errors
from .._common.type_name import type_name
from .._dtypes import dtype_of_number, get_default_dtype, result_type_of
from .._graph.op import Op
from .._sparse.array import KEEP_ZERO, SparseArray
from .._tensor.tensor import Tensor
from .overloads import OVERLOADS, combination_error, written_combination_error

_ndarray = np.ndarray
_NUMBERS = (float, int, bool, complex, np.generic)
_OF_NUMBERS = frozenset(("add", "sub", "mul", "div", "floor_divide"))
"""Ops that PyTorch lets compute on nothing but Python's numbers."""


def arrays_of(
    op: Op, args: Sequence[Any], writes: bool = False
) -> tuple[list[Any], Any]:
    """Take the arrays out of the arguments; return them with their array module.

    ``writes`` says that the call is the in-place one, for the sentence of a refusal.
    """
    arrays: list[Any] = []
    first: Any = None
    for position, arg in enumerate(args):
        if isinstance(arg, Tensor):
            arrays.append(arg._data)
            first = arg if first is None else first
        elif op.listed == position:
            arrays.append([_array_in(op, position, t) for t in arg])
            first = arg[0] if first is None and len(arg) else first
        elif (position in op.numbers and isinstance(arg, _NUMBERS)) or (
            arg is None and position in op.optional
        ):
            if not position and not OVERLOADS.get(op.name, ("", True))[1]:
                raise combination_error(op.name, args)
            arrays.append(arg)
        elif op.name in OVERLOADS:
            refused = written_combination_error if writes else combination_error
            raise refused(op.name, args)
        else:
            name = op.tensors[position]
            raise argument_error(op, name, position + 1, arg, writes)
    if first is None:
        if not args or op.listed is not None or args[0] is None:
            return arrays, np
        if op.name in _OF_NUMBERS:
            return [np.asarray(a, dtype_of_number(a).numpy) for a in arrays], np
        if op.name in OVERLOADS:
            raise combination_error(op.name, args)
        raise argument_error(op, op.tensors[0], 1, args[0])
    if type(first._data) is _ndarray:
        given = arrays if op.listed is None else _flat(arrays)
        for array in given:
            if type(array) is not _ndarray and _is_on_device(array):
                return _device_operands(args, arrays)
        return arrays, np
    return _device_operands(args, arrays)


def _flat(values: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        found += value if isinstance(value, list | tuple) else [value]
    return found


def _is_on_device(array: Any) -> bool:
    kind = type(array)
    return kind is META.array_type or kind.__module__.startswith("cupy")


def _array_in(op: Op, position: int, item: Any) -> Any:
    if not isinstance(item, Tensor):
        raise TypeError(
            f"expected Tensor as element of argument {position} of {op.name}, "
            f"but got {type_name(item)}"
        )
    return item._data


def _device_operands(args: Sequence[Any], arrays: list[Any]) -> tuple[list[Any], Any]:
    """Return what a kernel for device arrays takes, and their module.

    0-d host tensors go along, as NumPy's scalars; others are refused, and so is a
    second device.
    """
    tensors = [each for each in _flat(args) if isinstance(each, Tensor)]
    placed = [t for t in tensors if t.dim() or type(t._data) is not _ndarray]
    for other in placed[1:]:
        if other.device != placed[0].device:
            raise device_error(placed[0], other)
    ready = [
        a[()] if type(a) is _ndarray and not a.ndim else a  # CuPy takes no NumPy array
        for a in arrays
    ]
    return ready, backend_of(placed[0]._data).xp


_OWN_WIDTH = {"nan_to_num", "nextafter"}  # about the dtype, not about its values
_STEPWISE = {"_div_rounded", "_floor_divide_tensor"}
"""Ops that round two tensors of 16-bit floats after every step."""


_WIDE_NUMBERS = {"mul": 0, "div": 1, "floor_divide": 1}
"""Ops in which a number beside 16-bit floats keeps 32 bits, from which operand on."""


_ROUNDED_OPTIONS = {"add_scaled", "sub_scaled", "hardshrink"}
"""Ops whose options are first rounded to 16 bits."""


def compute(op: Op, xp: Any, arrays: Sequence[Any], params: tuple[Any, ...]) -> Any:
    """Run a kernel; elementwise, 16-bit floats are computed in float32, as in PyTorch.

    They are rounded once, at the end.
    """
    if op.name in KEEP_ZERO and type(arrays[0]) is SparseArray:
        x = arrays[0].coalesce()
        return x.with_values(compute(op, xp, (x.values, *arrays[1:]), params))
    alone = op.pointwise or op.family in ("elementwise", "upcast")
    if op.key in _STEPWISE and getattr(arrays[1], "ndim", 0):
        alone = False
    if alone and op.name not in _OWN_WIDTH and _any_half(arrays):
        dtypes = {a.dtype for a in arrays if hasattr(a, "dtype")}
        halves = {d for d in dtypes if d.itemsize == 2 and d.kind in "fV"}
        beside = "biuf" if op.name in _WIDE_NUMBERS else "biu"
        if len(halves) == 1 and all(d.kind in beside for d in dtypes - halves):
            return _in_single(op, xp, arrays, params, halves.pop())
    found = op.ordered(xp, *arrays, *params)
    first = getattr(arrays[0], "dtype", None) if arrays else None
    if first is None or first.kind != "V" or "dtype" in op.options:
        return found
    others = {getattr(a, "dtype", first) for a in arrays[1:]} - {first}
    if any(other.kind in "fV" for other in others):
        return found  # the kernel decided
    return _rounded(op, found, first)  # NumPy widens bfloat16 where a number meets it


def _any_half(arrays: Sequence[Any]) -> bool:
    for array in arrays:  # any() over a generator takes twice as long
        if hasattr(array, "dtype") and array.dtype.itemsize == 2:
            return True
    return False


def _in_single(
    op: Op, xp: Any, arrays: Sequence[Any], params: tuple[Any, ...], half: Any
) -> Any:
    wide = [
        a.astype("float32") if getattr(a, "dtype", None) == half else a for a in arrays
    ]
    if op.key in _ROUNDED_OPTIONS:
        params = tuple(float(half.type(p)) for p in params)
    return _rounded(op, op.ordered(xp, *wide, *params), half)


def _rounded(op: Op, found: Any, half: Any) -> Any:
    def each(array: Any) -> Any:
        return array.astype(half) if array.dtype.name == "float32" else array

    return each(found) if op.outputs == 1 else tuple(map(each, found))


def promote(op: Op, args: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
    """Bring the operands of a pointwise op to the dtype PyTorch computes in.

    Under "rest" the first operand, a condition, stays as it is.
    """
    if op.promotion == "rest":
        return [arrays[0], *_promoted(op, args[1:], arrays[1:])]
    return _promoted(op, args, arrays)


def _promoted(op: Op, args: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
    dtype = getattr(arrays[0], "dtype", None)
    if (
        dtype is not None
        and (op.promotion != "float" or dtype.kind in "fc")
        and all(getattr(a, "dtype", None) is dtype for a in arrays)
    ):
        return list(arrays)  # nothing to bring together
    if dtype is not None and dtype.char in "fd":
        met = _met_by_numbers(arrays, dtype)
        if met is not None:
            return met
    operands = [
        (arg.dtype, arg.dim())
        if isinstance(arg, Tensor)
        else arg.item()
        if isinstance(arg, np.generic)
        else arg
        for arg in args
        if arg is not None
    ]
    target = result_type_of(operands)
    inexact = target.is_floating_point or target.is_complex
    if op.promotion == "float" and not inexact:
        target = get_default_dtype()
    wanted = [target.numpy] * len(arrays)
    if op.name in _WIDE_NUMBERS and target.numpy.itemsize == 2 and inexact:
        for at in range(_WIDE_NUMBERS[op.name], len(arrays)):
            own = getattr(arrays[at], "dtype", None)
            if not getattr(arrays[at], "ndim", 0) and own != target.numpy:
                wanted[at] = np.dtype("float32")
    cast = [
        array if array is None else _cast(array, kind, isinstance(arg, Tensor))
        for arg, array, kind in zip(args, arrays, wanted, strict=True)
    ]
    if any(_is_on_device(array) for array in cast):
        return [a[()] if type(a) is _ndarray else a for a in cast]
    return cast


_REAL_NUMBERS = frozenset((float, int, bool))


def _met_by_numbers(arrays: Sequence[Any], dtype: Any) -> list[Any] | None:
    """Cast numbers to the floats they meet, which win; None where others meet too."""
    found: list[Any] = []
    for array in arrays:
        if type(array) in _REAL_NUMBERS:
            array = np.asarray(array).astype(dtype)
        elif array is not None and (
            type(array) is not _ndarray or array.dtype is not dtype
        ):
            return None
        found.append(array)
    return found


def _cast(array: Any, wanted: Any, is_array: bool) -> Any:
    if not is_array:
        return np.asarray(array).astype(wanted)
    if array.dtype == wanted:
        return array
    # NumPy would lay a copy of an expanded array out with the repeated dimension
    # innermost; PyTorch keeps the dimensions in order.
    return array.astype(wanted, order="C" if 0 in array.strides else "K")


def as_array(found: Any) -> Any:
    """Return an array even where NumPy gave a scalar for a 0-d result."""
    return found if type(found) is _ndarray else _from_scalar(found)


def _from_scalar(found: Any) -> Any:
    return np.asarray(found) if isinstance(found, _NUMBERS) else found


def placed_results(xp: Any, found: Any) -> Any:
    """Return what a device kernel found, with NumPy's numbers put on the device."""
    if isinstance(found, tuple | list):
        return type(found)(placed_results(xp, each) for each in found)
    return xp.asarray(found) if isinstance(found, _NUMBERS) else found


# ---- errors ------------------------------------------------------------------------


def argument_error(
    op: Op, name: str, position: int, value: Any, writes: bool = False
) -> TypeError:
    """Build PyTorch's TypeError for an argument that should have been a tensor.

    A method that writes does not count the tensor it belongs to.
    """
    shown = "input" if name == "self" else name
    called, position = (f"{op.name}_", position - 1) if writes else (op.name, position)
    return TypeError(
        f"{called}(): argument '{shown}' (position {position}) must be Tensor, "
        f"not {type_name(value)}"
    )


def device_error(first: Tensor, other: Any) -> RuntimeError:
    """Build PyTorch's error for operands on two devices."""
    places = [first.device, other.device]
    if any(place.type == "meta" for place in places):
        return RuntimeError(
            "Tensor on device {1} is not on the expected device {0}!".format(*places)
        )
    return RuntimeError(
        "Expected all tensors to be on the same device, but found at least two "
        f"devices, {first.device} and {other.device}!"
    )


def broadcast_error(*shapes: tuple[int, ...]) -> RuntimeError:
    """Build PyTorch's error for shapes that do not broadcast, taken one by one."""
    known: tuple[int, ...] = ()
    for shape in shapes:
        ndim = max(len(known), len(shape))
        a, b = ((1,) * (ndim - len(each)) + each for each in (known, shape))
        for dim in reversed(range(ndim)):
            m, n = a[dim], b[dim]
            if m != n and 1 not in (m, n):
                return RuntimeError(_errors.BROADCAST.format(a=m, b=n, dim=dim))
        known = tuple(n if m == 1 else m for m, n in zip(a, b, strict=True))
    return RuntimeError(f"shapes {shapes} cannot be broadcast")


def common_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that shapes broadcast to.

    Raises RuntimeError, in PyTorch's words, where they do not.
    """
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise broadcast_error(*shapes) from None
