"""Questions about tensors that no computation answers: is_tensor, numel, and others."""

from __future__ import annotations

from typing import Any

from .._define import method, public
from .._device import default_device
from .._dtypes import result_type_of
from .._errors import legacy_type_name
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


@method(function=True)
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Tell whether two tensors have the same shape."""
    return input._data.shape == other._data.shape


@method(function=True)
def is_nonzero(input: Tensor) -> bool:
    """Tell whether a tensor's only element is not zero.

    Raises RuntimeError for a tensor with more elements, or none.
    """
    return bool(input)


@method()
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Tell whether two tensors look in the same way into the same memory."""
    return (
        self._storage.owner is tensor._storage.owner
        and self.storage_offset() == tensor.storage_offset()
        and self._data.shape == tensor._data.shape
        and self.stride() == tensor.stride()
    )


@method(function=True)
def get_device(input: Tensor) -> int:
    """Return the index of the CUDA device; -1 in host memory."""
    index = input.device.index
    return -1 if index is None else index


@method()
def is_pinned(self: Tensor) -> bool:
    """Tell whether the memory is locked for copies to a device; never, here."""
    return False


@public
def result_type(tensor1: Any, tensor2: Any) -> Any:
    """Return the dtype that arithmetic of two operands has."""
    return result_type_of(
        [(t.dtype, t.dim()) if isinstance(t, Tensor) else t for t in (tensor1, tensor2)]
    )


@public
def typename(obj: Any) -> str:
    """Return the name of an object's type; a tensor's is that of its dtype."""
    if isinstance(obj, Tensor):
        return legacy_type_name(obj.dtype)
    kind = type(obj)
    home = getattr(obj, "__module__", None) or kind.__module__
    name = getattr(obj, "__qualname__", None) or kind.__qualname__
    return name if home in ("", "builtins") else f"{home}.{name}"


@public
def get_default_device() -> Any:
    """Return the device of new tensors that name none."""
    return default_device()


@method()
def dim_order(self: Tensor, ambiguity_check: bool = False) -> tuple[int, ...]:
    """Return the dimensions from the outermost in memory to the innermost."""
    steps = self.stride()
    return tuple(sorted(range(self.dim()), key=lambda d: -steps[d]))


@method()
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """Return the tensor itself; there is nothing to lock its memory for."""
    return self
