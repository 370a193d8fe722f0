"""Questions about tensors that no computation answers: is_tensor, numel, and others."""

from __future__ import annotations

from typing import Any

from .._define import method, public
from .._dtypes import result_type_of
from .._tensor import Tensor


@public
def is_tensor(obj: Any) -> bool:
    """Tell whether an object is a tensor."""
    return isinstance(obj, Tensor)


@public
def is_storage(obj: Any) -> bool:
    """Tell whether an object is a tensor's storage."""
    from .memory import UntypedStorage

    return isinstance(obj, UntypedStorage)


@public
def numel(input: Tensor) -> int:
    """Return the number of elements."""
    return input.numel()


@method()
def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Tell whether two tensors have the same shape."""
    return self._data.shape == other._data.shape


@method()
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Tell whether two tensors look in the same way into the same memory."""
    return (
        self._storage is tensor._storage
        and self.storage_offset() == tensor.storage_offset()
        and self._data.shape == tensor._data.shape
        and self.stride() == tensor.stride()
    )


@method()
def get_device(self: Tensor) -> int:
    """Return the index of the CUDA device; -1 in host memory."""
    index = self.device.index
    return -1 if index is None else index


@method()
def is_pinned(self: Tensor) -> bool:
    """Tell whether the memory is locked for copies to a device; never, here."""
    return False


@method()
def is_inference(self: Tensor) -> bool:
    """Tell whether the tensor was made in inference mode; never, here."""
    return False


@public
def result_type(tensor1: Any, tensor2: Any) -> Any:
    """Return the dtype that arithmetic of two operands has."""
    return result_type_of(
        [(t.dtype, t.dim()) if isinstance(t, Tensor) else t for t in (tensor1, tensor2)]
    )
