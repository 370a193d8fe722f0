"""What reductions share: dimensions, dtypes, empty input, ties, NumPy's names."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..._common.type_name import type_name
from ..._dispatch.declare import ABSENT as ABSENT
from ..._dtypes import CPP_TYPE
from ..._dtypes import dtype as DType
from ..._graph.op import Check
from ..._graph.output_layout import LARGE
from ..._tensor.tensor import Tensor
from .arguments import is_integer, sizes, wrap_dim, wrap_dims
from .operands import not_implemented
from .out_argument import SAME_DTYPE


def dim_argument(dim: Any, axis: Any, keepdim: Any, keepdims: Any) -> tuple[Any, Any]:
    """Return (dim, keepdim) from PyTorch's or NumPy's names."""
    return (
        dim if axis is ABSENT else axis,
        keepdim if keepdims is ABSENT else keepdims,
    )


K = TypeVar("K", bound=Callable[..., Any])
_NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim"}


def numpy_names(function: K) -> K:
    """Let a function take ``dim`` as ``axis`` too, and ``keepdim`` as ``keepdims``."""

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        if named:
            for given, name in _NUMPY_NAMES.items():
                if given in named and name not in named:
                    named[name] = named.pop(given)
        return function(*args, **named)

    return call  # pyright: ignore[reportReturnType]


_FEW = 8
"""Elements per winner from which on it pays to look the winners up."""


def shared_by_few(grad: Any, mask: Any) -> Any:
    """Return ``grad * mask / mask.sum(reduced axes)``, or None where that is quicker.

    ``grad`` has size 1 in the reduced axes. Usually one element in hundreds has won:
    writing to those alone takes 0.14 ms for a thousand rows of a thousand, the formula
    1.3.
    """
    if type(mask) is not np.ndarray or mask.size < LARGE or grad.dtype.kind != "f":
        return None
    if not mask.flags.c_contiguous or mask.size < _FEW * grad.size:
        return None
    at = _where(mask)
    if at.size * _FEW > mask.size:
        return None
    places = np.unravel_index(at, mask.shape)
    cells = np.broadcast_to(np.arange(grad.size).reshape(grad.shape), mask.shape)
    cell = cells[places]
    count = np.bincount(cell, minlength=grad.size)
    if not count.all():
        return None  # of NaN none has won, and the formula says what becomes of that
    found = np.zeros(mask.shape, grad.dtype)
    share = grad.reshape(-1) / count.astype(grad.dtype)
    found.reshape(-1)[at] = share[cell]
    return found


def _where(mask: Any) -> Any:
    """Do what flatnonzero does, eight elements at a glance: few of them hold any."""
    flat = mask.reshape(-1)
    whole = flat.size // 8 * 8
    rows = np.flatnonzero(flat[:whole].view(np.uint64) != 0)
    row, column = np.nonzero(flat[:whole].reshape(-1, 8)[rows])
    rest = np.flatnonzero(flat[whole:]) + whole
    return np.concatenate((rows[row] * 8 + column, rest))


Dims = int | tuple[int, ...] | list[int] | None


def axes_of(dim: Dims, ndim: int) -> tuple[int, ...]:
    """Return the axes that ``dim`` means; None and () mean all of them."""
    if dim is None:
        return tuple(range(ndim))
    found = wrap_dims(dim, ndim)
    return found[:ndim] if found else tuple(range(ndim))


def kept_shape(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape with the reduced axes kept as 1."""
    return tuple(1 if i in axes else n for i, n in enumerate(shape))


def finish(xp: Any, found: Any, shape: tuple[int, ...], axes: Any, keep: bool) -> Any:
    """Lay a result out row by row, as PyTorch does, and put kept axes back."""
    found = xp.asarray(found)
    if not found.flags.c_contiguous:
        found = found.copy(order="C")
    return found.reshape(kept_shape(shape, axes)) if keep else found


def restored(F: Any, value: Any, shape: Any, dim: Dims, keepdim: bool) -> Any:
    """Give a result, or its gradient, the reduced axes back with size 1."""
    if keepdim or not shape:
        return value
    return F.reshape(value, kept_shape(shape, axes_of(dim, len(shape))))


def spread_back(F: Any, grad: Any, shape: Any, dim: Dims, keepdim: bool) -> Any:
    """Give every element of the input the gradient of its sum."""
    shape = tuple(shape)
    return F.expand(restored(F, grad, shape, dim, keepdim), shape)


def count_in(shape: Any, dim: Dims) -> int:
    """Return how many elements go into one."""
    count = 1
    for axis in axes_of(dim, len(shape)):
        count *= shape[axis]
    return count


def as_dims(dim: Any, function: str) -> Any:
    """Return a dim argument as the node keeps it: a tuple, or None."""
    if dim is None:
        return None
    return (int(dim),) if is_integer(dim) else sizes(dim, function, "dim", 2)


def check_dims(function: str, dim: Any) -> None:
    """Refuse dimensions that are no whole numbers, in PyTorch's words."""
    several = dim if isinstance(dim, list | tuple) else (dim,)
    if dim is not None and not all(map(is_integer, several)):
        raise TypeError(
            f"{function}(): argument 'dim' must be tuple of ints, not {type_name(dim)}"
        )


def check_dim(function: str, dim: Any) -> None:
    """Refuse a dimension that is no whole number, in PyTorch's words."""
    if dim is not None and not is_integer(dim):
        raise TypeError(
            f"{function}(): argument 'dim' must be int, not {type_name(dim)}"
        )


def wide(array: Any) -> Any:
    """Return the dtype in which sums of an array run: half precision needs more."""
    if array.dtype.itemsize == 2 and array.dtype.kind in "fV":
        return "float32"
    return "int64" if array.dtype.kind in "bui" else array.dtype


def in_dtype(array: Any, dtype: DType | None) -> Any:
    """Return the array in the dtype asked for."""
    return array if dtype is None else array.astype(dtype.numpy, copy=False)


def dtype_with_out(dtype: DType | None, out: Tensor | None) -> DType | None:
    """Return the dtype to reduce in, which ``out`` decides; refuse another one."""
    if out is None or dtype is out.dtype:
        return dtype
    if dtype is None:
        return out.dtype
    names = {"wanted": CPP_TYPE[dtype], "given": CPP_TYPE[out.dtype]}
    raise RuntimeError(SAME_DTYPE.format(**names))


def in_whole(sums: Any, dtype: DType | None) -> Any:
    """Return sums, which ran in 64 bits, in the kind of whole numbers asked for."""
    if dtype is None or dtype.is_floating_point or dtype.is_complex:
        return sums
    return sums.astype(dtype.numpy, copy=False)


def values_of(value: Any) -> Any:
    """Return the raw array of what a formula was given."""
    return value._data if isinstance(value, Tensor) else value


def needs_elements(
    label: str,
    error: type[Exception] = RuntimeError,
    advice: str = " Specify the reduction dim with the 'dim' argument.",
    lacks: str = "",
    call: str = "",
) -> Check:
    """Return a check that refuses to pick an element where there is none.

    ``call`` is what PyTorch calls it when a dimension is named. ``lacks`` names
    PyTorch's kernel, which has no order of complex numbers.
    """

    def check(name: str, self: Any, dim: Any = None, *_: Any) -> None:
        data = self._data
        if data.size and not (lacks and data.dtype.kind == "c"):
            return
        if dim is None or dim == ():
            if not data.size:
                raise error(
                    f"{label}(): Expected reduction dim to be specified for "
                    f"input.numel() == 0.{advice}"
                )
            raise not_implemented(lacks, self)
        for axis in (dim,) if is_integer(dim) else dim:
            at = wrap_dim(axis, data.ndim)
            if data.ndim and data.shape[at] == 0:
                raise IndexError(
                    f"{call or label + '()'}: Expected reduction dim {at} to have "
                    "non-zero size."
                )
        if lacks and data.dtype.kind == "c":
            raise not_implemented(lacks, self)

    return check
