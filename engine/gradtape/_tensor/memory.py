"""The memory side of a tensor: shape, strides, dtype, device, address."""

from __future__ import annotations

import itertools
import operator
from typing import TYPE_CHECKING, Any

from .._backend import META, VALUELESS, Shell, backend_of
from .._backend.device import device, device_of
from .._dtypes import DTYPE_OF, dtype
from .size import Size

_new_tuple = tuple.__new__


def keeps_values_elsewhere(tensor: Any) -> bool:
    """Tell whether a tensor is of a class made by ``_make_wrapper_subclass``.

    Such a tensor has a layout and no memory: what can be read is asked of its class.
    """
    return type(tensor._data) is Shell


class TensorMemory:
    """What can be read off a tensor's array and its place in the storage."""

    # What a log knew of the tensor at its last look. It is unset until then, and it
    # stays with the object when tensors are swapped; the engine itself never reads it.
    __slots__ = ("_noted",)

    _noted: tuple[Any, ...]

    if TYPE_CHECKING:
        _data: Any
        _memory: Any
        _view: Any

    def __dir__(self) -> list[str]:
        """Name what can be read of the tensor."""
        hidden = () if hasattr(self, "_noted") else ("_noted",)
        return [name for name in super().__dir__() if name not in hidden]

    @property
    def shape(self) -> Size:
        """The sizes of the dimensions."""
        return _new_tuple(Size, self._data.shape)  # ints already

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return int(self._data.ndim)

    @property
    def dtype(self) -> dtype:
        """The type of the elements."""
        return DTYPE_OF[self._data.dtype]

    @property
    def device(self) -> device:
        """Where the memory is."""
        return device_of(self._data)

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return int(self._data.itemsize)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements, shared memory counted as often as it is seen."""
        return int(self._data.nbytes)

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is on a CUDA device."""
        return self.device.type == "cuda"

    @property
    def is_meta(self) -> bool:
        """Whether there are no values, only a shape, strides and a dtype."""
        return backend_of(self._data) is META

    @property
    def is_cpu(self) -> bool:
        """Whether the memory is the host's."""
        return self.device.type == "cpu"

    def element_size(self) -> int:
        """Return the bytes per element."""
        return int(self._data.itemsize)

    def dim(self) -> int:
        """Return the number of dimensions."""
        return int(self._data.ndim)

    ndimension = dim

    def numel(self) -> int:
        """Return the number of elements."""
        return int(self._data.size)

    nelement = numel

    def size(self, dim: int | None = None) -> Any:
        """Return the shape, or the size of one dimension.

        Raises IndexError for a dimension the tensor does not have.
        """
        shape = self._data.shape
        return Size(shape) if dim is None else shape[self._wrap_dim(dim)]

    def stride(self, dim: int | None = None) -> Any:
        """Return the steps in elements, or the step of one dimension."""
        data = self._data
        item = data.itemsize
        if data.size or self._is_view() or any(data.strides):
            strides = tuple([s // item for s in data.strides])
        else:  # NumPy writes zeros for empty arrays of its own
            steps = itertools.accumulate(
                (max(n, 1) for n in data.shape[:0:-1]), operator.mul, initial=1
            )
            strides = tuple(steps)[::-1][: data.ndim]
        return strides if dim is None else strides[self._wrap_dim(dim)]

    def storage_offset(self) -> int:
        """Return where in its storage the tensor begins, in elements."""
        return 0 if self._view is None else self._view.offset

    def data_ptr(self) -> int:
        """Return the address of the first element; 0 for an empty tensor."""
        memory = self._memory
        if (
            not self._data.size
            or type(self._data) in VALUELESS
            or (memory is not None and not memory.nbytes())
        ):
            return 0
        return backend_of(self._data).pointer(self._data)

    def _wrap_dim(self, dim: int) -> int:
        ndim = self._data.ndim
        if not ndim:
            raise IndexError(
                f"Dimension specified as {dim} but tensor has no dimensions"
            )
        if not -ndim <= dim < ndim:
            raise IndexError(
                "Dimension out of range (expected to be in range of "
                f"[{-ndim}, {ndim - 1}], but got {dim})"
            )
        return dim % ndim

    def _is_view(self) -> bool:
        return self._view is not None and self._view.base is not None

    def __len__(self) -> int:
        if self._data.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return int(self._data.shape[0])
