"""Memory shared with other array libraries by DLPack.

https://dmlc.github.io/dlpack/latest/python_spec.html describes the protocol.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._backend import backend_of
from ..._backend.dlpack_types import mark_bfloat16, unmark_bfloat16
from ..._dispatch.declare import method, public
from ..._dtypes import bfloat16
from ..._tensor.tensor import Tensor, wrap
from ..sparse.layout import is_sparse
from .from_data import share

_INVALID = (
    "from_dlpack received an invalid capsule. Note that DLTensor capsules can be "
    "consumed only once, so you might have already constructed a tensor from it once."
)
_CPU = (1, 0)  # the device type and number of host memory


@method("__dlpack__")
def _dlpack(self: Tensor, *, stream: Any = None, **options: Any) -> Any:
    if self.requires_grad:
        raise BufferError(
            "Can't export tensors that require gradient, use tensor.detach()"
        )
    if is_sparse(self):
        raise BufferError("Can't export tensors with layout other than torch.strided")
    if stream is not None and type(stream) is not int:
        raise TypeError("stream must be ``int`` or ``none``")
    if backend_of(self._data).name == "numpy":
        if stream not in (None, -1):  # -1 asks for no synchronisation
            raise AssertionError("stream should be None on cpu.")
        if self.dtype is bfloat16:
            return mark_bfloat16(self._data.view(np.uint16).__dlpack__(**options))
        return self._data.__dlpack__(**options)
    return self._data.__dlpack__(stream=stream, **options)


@method("__dlpack_device__")
def _dlpack_device(self: Tensor) -> Any:
    return self._data.__dlpack_device__()


class _Capsule:
    """An object around a capsule, as NumPy wants it."""

    def __init__(self, capsule: Any, device: tuple[int, int] = _CPU) -> None:
        self._capsule, self._device = capsule, device

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device


class _Writable:
    """An array of a capsule, which says nothing of memory that must not be written."""

    def __init__(self, array: Any) -> None:
        found = array.__array_interface__
        self.__array_interface__ = {**found, "data": (found["data"][0], False)}
        self._array = array


@public
def from_dlpack(
    ext_tensor: Any, *, device: Any = None, copy: bool | None = None
) -> Tensor:
    """Return a tensor that shares the memory of another library's array.

    ``ext_tensor`` is an array, or the capsule that its ``__dlpack__()`` returned. With
    ``copy=True`` the memory is new. Raises BufferError where memory cannot be shared.

    >>> import numpy, gradtape as torch
    >>> array = numpy.zeros(2)
    >>> torch.from_dlpack(array).fill_(1.0)
    tensor([1., 1.], dtype=torch.float64)
    >>> array
    array([1., 1.])
    """
    found = _shared(ext_tensor)
    if device is not None:
        found = found.to(device=device)  # type: ignore[attr-defined]
    return found.clone() if copy else found  # type: ignore[attr-defined]


def _shared(source: Any) -> Tensor:
    if isinstance(source, Tensor):
        if source.requires_grad or is_sparse(source):
            _dlpack(source)
        return source.data
    if type(source).__name__ == "PyCapsule":
        source = _Capsule(source)
    if not hasattr(source, "__dlpack__"):
        raise RuntimeError(_INVALID)
    if type(source).__module__.partition(".")[0] == "cupy":
        return wrap(source)
    given = isinstance(source, _Capsule)
    capsule = source if given else _Capsule(_asked(source), source.__dlpack_device__())
    halved = unmark_bfloat16(capsule.__dlpack__())
    try:
        array = np.from_dlpack(capsule)
    except ValueError:
        raise RuntimeError(_INVALID) from None
    array = np.asarray(_Writable(array)) if given else array
    return share(array.view(bfloat16.numpy) if halved else array)


def _asked(source: Any) -> Any:
    """Return the capsule of an object, newer than 1.0 if it knows how to say so."""
    try:
        return source.__dlpack__(max_version=(1, 0))
    except TypeError:
        return source.__dlpack__()


@public
def to_dlpack(tensor: Tensor, /) -> Any:
    """Return a capsule that another library makes an array of, once."""
    return _dlpack(tensor)
