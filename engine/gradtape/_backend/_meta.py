"""The meta device: tensors with a shape, strides and a dtype, but no values.

Arrays stand on memory that the system hands out only when it is written, and new ones
are never written; so a module of billions of parameters costs nothing, and a pass over
it tells the shapes. What kernels do write means nothing, and nobody can read it.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.lib.stride_tricks import as_strided

from ._numpy import NumpyBackend

NO_DATA = "Cannot copy out of meta tensor; no data!"
NO_ITEM = "Tensor.item() cannot be called on meta tensors"


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
        return _without_values(getattr(ufunc, method), args, named)

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

    def __copy__(self) -> MetaArray:
        return MetaArray(self._host.copy())

    def __deepcopy__(self, _: Any) -> MetaArray:
        return MetaArray(np.empty_like(self._host))

    def __reduce__(self) -> Any:
        return _rebuilt, (self._host.shape, self._host.dtype)


def _rebuilt(shape: Any, dtype: Any) -> MetaArray:
    return MetaArray(np.empty(shape, dtype))


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
    asked = getattr(function, "__name__", "")
    if asked in _SHAPED_BY_VALUES or (asked == "__getitem__" and _has_mask(args[0])):
        raise NotImplementedError(_UNKNOWN_SHAPE)
    return _lifted(function(*_lowered(tuple(args)), **_lowered(named)))


def _product(a: Any, b: Any) -> MetaArray:
    """Return where a matrix product would be, which takes long to compute."""
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"shapes {a.shape} and {b.shape} do not multiply")
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    shape = (*batch, a.shape[-2], b.shape[-1])
    return MetaArray(np.empty(shape, np.result_type(a, b)))


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
        return MetaArray(np.zeros(shape, dtype))  # places have to be there

    ones = empty = zeros

    def full(self, shape: Any, value: Any, dtype: Any = None, **_: Any) -> Any:
        kind = np.asarray(_lowered(value)).dtype if dtype is None else dtype
        return MetaArray(np.zeros(shape, kind))

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
        return np.empty_like(as_strided(host, array.shape, array.strides))
