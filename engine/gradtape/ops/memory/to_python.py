"""From tensors to Python and NumPy values: item, tolist, numpy, iteration, truth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._backend import NO_ITEM, backend_of
from ..._common import messages as _errors
from ..._common.warn import warn_once
from ..._dispatch.declare import method
from ..._dtypes import bfloat16
from ..._modes.grad_mode import mode
from ..._sparse.array import SparseArray
from ..._tensor.subclasses import dispatching
from ..._tensor.tensor import Tensor
from .resize_storage import fix

_HAS_HISTORY = (
    "Converting a tensor with requires_grad=True to a scalar may lead to unexpected "
    "behavior.\nConsider using tensor.detach() first."
)
_ONE_ELEMENT = "only one element tensors can be converted to Python scalars"


@method()
def item(self: Tensor) -> Any:
    """Return the only element as a Python number.

    Raises RuntimeError for a tensor with more elements, or none.

    >>> import gradtape as torch
    >>> torch.tensor([2.5]).item()
    2.5
    """
    if mode.now.watch is not None:
        mode.now.watch.check_read(self, "item")
    if self._data.size != 1:
        raise RuntimeError(
            f"a Tensor with {self._data.size} elements cannot be converted to Scalar"
        )
    value = self._data.item()
    return value if isinstance(value, _PLAIN) else float(value)  # bfloat16 has no own


_PLAIN = (bool, int, float, complex)


@method()
def tolist(self: Tensor) -> Any:
    """Return the elements as nested lists of Python numbers."""
    if type(self) in dispatching:
        raise RuntimeError(
            ".tolist() is not supported for tensor subclasses, got "
            f"{type(self).__name__}"
        )
    if mode.now.watch is not None:
        mode.now.watch.check_read(self, "memory")
    host = backend_of(self._data).to_host(self._data)
    return host.astype(np.float32).tolist() if host.dtype.kind == "V" else host.tolist()


@method()
def numpy(self: Tensor, *, force: bool = False) -> Any:
    """Return a NumPy array that shares the tensor's memory.

    Raises RuntimeError for a tensor that requires grad and TypeError for one on a
    device; with ``force`` these are detached and copied instead. Raises TypeError for
    bfloat16, which NumPy does not know.
    """
    if type(self) in dispatching:
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")
    if mode.now.watch is not None:
        mode.now.watch.check_read(self, "memory")
    if mode.grad and self.requires_grad and not force:
        raise RuntimeError(_errors.NUMPY_NEEDS_DETACH)
    if not force and not self.is_cpu and not self.is_sparse:
        raise TypeError(
            f"can't convert {self.device} device type tensor to numpy. Use "
            "Tensor.cpu() to copy the tensor to host memory first."
        )
    if self.is_sparse:
        raise TypeError(
            "can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first."
        )
    if self.dtype is bfloat16:
        raise TypeError("Got unsupported ScalarType BFloat16")
    fix(self._storage.owner)
    return backend_of(self._data).to_host(self._data)[...]


@method("__array__")
def _array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    array = numpy(self)
    if copy is False and dtype is not None and array.dtype != dtype:
        raise ValueError("a copy is needed to change the dtype, but copy=False")
    found = array if dtype is None else array.astype(dtype, copy=False)
    return found.copy() if copy and np.shares_memory(found, array) else found


@method("__array_wrap__")
def _array_wrap(
    self: Tensor, array: Any, context: Any = None, return_scalar: bool = False
) -> Tensor:
    from ..creation.from_data import from_numpy

    found = np.asarray(array)
    # NumPy's masks come back as bytes, as in PyTorch.
    return from_numpy(found.astype("uint8" if found.dtype == bool else found.dtype))


@method("__iter__")
def _iterate(self: Tensor) -> Iterator[Tensor]:
    if not self.dim():
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


@method("__contains__")
def _contains(self: Tensor, element: Any) -> bool:
    if not isinstance(element, Tensor | int | float | complex | np.generic):
        raise RuntimeError(
            "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            f"{type(element)}."
        )
    other = element._data if isinstance(element, Tensor) else element
    return bool((self._data == other).any())


@method("__bool__")
def _truth(self: Tensor) -> bool:
    if mode.now.watch is not None:
        mode.now.watch.check_read(self, "bool")
    if self._data.size != 1:
        what = "more than one value" if self._data.size else "no values"
        raise RuntimeError(_errors.BOOL_AMBIGUOUS.format(what=what))
    if self.is_meta:
        raise RuntimeError(NO_ITEM)
    if type(self) in dispatching:
        return bool(self.item())  # type: ignore[attr-defined]
    if type(self._data) is SparseArray:
        return bool(self._data.item())
    return bool(self._data.reshape(-1)[0] != 0)


def _only_number(self: Tensor, warn: bool = False) -> Any:
    if warn and mode.grad and self.requires_grad:
        warn_once(_HAS_HISTORY)
    if self._data.size != 1:
        raise ValueError(_ONE_ELEMENT)
    return self.item()  # type: ignore[attr-defined]


def _real(value: Any, name: str) -> Any:
    if isinstance(value, complex):
        if value.imag:
            raise RuntimeError(
                f"value cannot be converted to type {name} without overflow"
            )
        return value.real
    return value


@method("__float__")
def _float(self: Tensor) -> float:
    return float(_real(_only_number(self, warn=True), "double"))


@method("__int__", "__trunc__")
def _int(self: Tensor) -> int:
    return int(_real(_only_number(self), "int64_t"))


@method("__complex__")
def _complex(self: Tensor) -> complex:
    return complex(_only_number(self, warn=True))


@method("__index__")
def _index(self: Tensor) -> int:
    if self._data.size != 1 or self._data.dtype.kind not in "iub":
        raise TypeError(
            "only integer tensors of a single element can be converted to an index"
        )
    return int(item(self))
