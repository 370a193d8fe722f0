"""The meta device: tensors with a shape, strides and a dtype, but no values.

Arrays stand on memory that the system hands out only when it is written, and new ones
are never written; so a module of billions of parameters costs nothing, and a pass over
it tells the shapes. What kernels do write means nothing, and nobody can read it.
"""

from __future__ import annotations

import math
import mmap
from types import ModuleType
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.lib.stride_tricks import as_strided

from ._numpy import NumpyBackend

NO_DATA = "Cannot copy out of meta tensor; no data!"
NO_ITEM = "Tensor.item() cannot be called on meta tensors"


_MAP_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)  # Linux; named since 3.13

_SHAPED_BY_VALUES = {
    *("argwhere", "compress", "extract", "flatnonzero", "nonzero", "unique"),
}
_UNKNOWN_SHAPE = "the shape of the result depends on values, which meta tensors lack"


class MetaArray(NDArrayOperatorsMixin):
    """An array whose values cannot be read."""

    __slots__ = ("__weakref__", "_host")
    __array_priority__ = 1000

    def __init__(self, host: Any) -> None:
        self._host = host

    def item(self, *_: Any) -> NoReturn:
        raise RuntimeError(NO_ITEM)

    __int__ = __float__ = __complex__ = __index__ = item

    def __bool__(self) -> bool:
        """Tell kernels that ask for what is out of order that nothing is."""
        return False

    def tolist(self) -> NoReturn:
        raise NotImplementedError(NO_DATA)

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(NO_DATA)

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **named: Any) -> Any:
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        return _without_values(function, args, named)

    def __array_function__(self, function: Any, _: Any, args: Any, named: Any) -> Any:
        return _without_values(function, args, named)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._host, name)
        if callable(found):
            return lambda *args, **named: _without_values(found, args, named)
        return _lifted(found)

    def __getitem__(self, index: Any) -> Any:
        return _without_values(self._host.__getitem__, (index,), {})

    def __setitem__(self, index: Any, value: Any) -> None:
        if index is Ellipsis:  # a copy: it has to fit, and there is nothing to write
            np.broadcast_to(_lowered(value), self._host.shape)
        else:
            _without_values(self._host.__setitem__, (index, value), {})

    def __len__(self) -> int:
        return len(self._host)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def astype(
        self, dtype: Any, order: str = "K", copy: bool = True, **_: Any
    ) -> MetaArray:
        same = not copy and self._host.dtype == dtype
        return self if same else MetaArray(_room_like(self._host, dtype, order))

    def copy(self, order: str = "C") -> MetaArray:
        return MetaArray(_room_like(self._host, None, order))

    def __copy__(self, *_: Any) -> MetaArray:
        return self.copy("K")

    __deepcopy__ = __copy__

    def __reduce__(self) -> Any:
        return _rebuilt, (self._host.shape, self._host.dtype)


def _rebuilt(shape: Any, dtype: Any) -> MetaArray:
    return MetaArray(_room(shape, dtype))


def _room(shape: Any, dtype: Any) -> Any:
    """Return zeros, which take no memory until they are written: nobody will."""
    try:
        return np.zeros(shape, dtype)
    except MemoryError:  # more than the machine has, which matters only if it is used
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
        sizes = (shape,) if isinstance(shape, int) else shape
        size = math.prod(sizes) * np.dtype(dtype).itemsize
        return np.frombuffer(mmap.mmap(-1, size, flags), dtype).reshape(shape)


def _room_like(host: Any, dtype: Any = None, order: Any = "K") -> Any:
    """Return room for the elements of an array, in the order in which it has them."""
    try:
        return _with_places(np.empty_like(host, dtype, order))
    except MemoryError:
        dims = sorted(range(host.ndim), key=lambda dim: -host.strides[dim])
        room = _room([host.shape[dim] for dim in dims], dtype or host.dtype)
        return room.transpose(np.argsort(dims))


def _with_places(host: Any) -> Any:
    """Return new memory; integers are 0, since kernels may ask for what is there."""
    if host.dtype.kind in "iu":
        host.fill(0)
    return host


def _lifted(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return MetaArray(np.asarray(value))
    if type(value) in (tuple, list):
        return type(value)(_lifted(each) for each in value)
    return value


def _lowered(value: Any) -> Any:
    if isinstance(value, MetaArray):
        return value._host
    if type(value) in (tuple, list):
        return type(value)(_lowered(each) for each in value)
    if isinstance(value, dict):
        return {key: _lowered(each) for key, each in value.items()}
    return value


def _without_values(function: Any, args: Any, named: Any) -> Any:
    """Call a function of NumPy; nobody will see what it computes."""
    if function in (np.matmul, np.dot) and not named and len(args) == 2:
        a, b = _lowered(args)
        if min(a.ndim, b.ndim) > 1 and (function is np.matmul or a.ndim == b.ndim == 2):
            return _product(a, b)
    if (
        type(function) is np.ufunc
        and not function.signature
        and not named.keys() - {"out"}
    ):
        return _pointwise(function, args, named.get("out"))
    asked = getattr(function, "__name__", "")
    if asked in _SHAPED_BY_VALUES or (asked == "__getitem__" and _has_mask(args[0])):
        raise NotImplementedError(_UNKNOWN_SHAPE)
    return _lifted(function(*_lowered(tuple(args)), **_lowered(named)))


def _pointwise(ufunc: Any, args: Any, out: Any) -> Any:
    """Return what a ufunc would, laid out alike, without a pass over memory."""
    given = _lowered(args[: ufunc.nin])
    one = [np.ones(1, a.dtype) if isinstance(a, np.ndarray) else a for a in given]
    found = ufunc(*one)
    kinds = [each.dtype for each in (found if ufunc.nout > 1 else (found,))]
    into = args[ufunc.nin :] or (out if isinstance(out, tuple) else (out,))
    places = [*_lowered(into), *[None] * (ufunc.nout - len(into))]
    made = np.nditer(
        [*given, *places],
        ["zerosize_ok", "buffered", "delay_bufalloc"],
        [["readonly"]] * ufunc.nin + [["writeonly", "allocate"]] * ufunc.nout,
        [None] * ufunc.nin + kinds,
        casting="same_kind",
    ).operands[ufunc.nin :]
    results = tuple(
        MetaArray(_with_places(new)) if old is None else old
        for new, old in zip(made, [*into, *[None] * ufunc.nout], strict=False)
    )
    return results if ufunc.nout > 1 else results[0]


def _product(a: Any, b: Any) -> MetaArray:
    """Return where a matrix product would be, which takes long to compute."""
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"shapes {a.shape} and {b.shape} do not multiply")
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    shape = (*batch, a.shape[-2], b.shape[-1])
    return MetaArray(_room(shape, np.result_type(a, b)))


def _has_mask(index: Any) -> bool:
    parts = index if isinstance(index, tuple) else (index,)
    return any(isinstance(p, MetaArray) and p.dtype == bool for p in parts)


class _Lifted:
    """A function, ufunc or module of NumPy, for arrays without values."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __call__(self, *args: Any, **named: Any) -> Any:
        return _without_values(self._inner, args, named)

    def __getattr__(self, name: str) -> Any:
        return _Lifted(getattr(self._inner, name))


class _MetaModule(ModuleType):
    """NumPy as kernels see it on the meta device."""

    ndarray = MetaArray

    def asarray(self, value: Any, dtype: Any = None, **_: Any) -> Any:
        if isinstance(value, MetaArray):
            return value if dtype is None else value.astype(dtype, copy=False)
        return MetaArray(np.asarray(value, dtype))

    array = ascontiguousarray = asarray

    def zeros(self, shape: Any, dtype: Any = float, **_: Any) -> Any:
        return MetaArray(_room(shape, dtype))

    ones = empty = zeros

    def full(self, shape: Any, value: Any, dtype: Any = None, **_: Any) -> Any:
        kind = np.asarray(_lowered(value)).dtype if dtype is None else dtype
        return MetaArray(_room(shape, kind))

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        plain = isinstance(found, type | float) or found is None
        if plain or name in ("broadcast_shapes", "errstate"):
            return found
        return _Lifted(found)


class MetaBackend:
    """Arrays without values."""

    name = "meta"
    xp: Any = _MetaModule("meta")
    array_type: type = MetaArray
    _numpy = NumpyBackend()

    def pointer(self, array: Any) -> int:
        return self._numpy.pointer(array._host)

    def flat(self, owner: Any) -> Any:
        return MetaArray(self._numpy.flat(owner._host))

    def strided(
        self,
        flat: Any,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        offset: int,
    ) -> Any:
        return MetaArray(self._numpy.strided(flat._host, shape, strides, offset))

    def to_host(self, array: Any) -> NoReturn:
        raise NotImplementedError(NO_DATA)

    def device_index(self, array: Any) -> int | None:
        return None

    def without_values(self, array: Any) -> MetaArray:
        """Return an array laid out as another one, which may be of any backend."""
        return MetaArray(self.laid_out(array))

    def laid_out(self, array: Any) -> Any:
        """Return a NumPy array of an array's shape, in the order of its strides."""
        host = np.empty(0 if not array.size else 1, array.dtype)
        return _room_like(as_strided(host, array.shape, array.strides))
