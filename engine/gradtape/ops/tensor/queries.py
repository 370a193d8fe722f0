"""Questions about tensors that no computation answers: is_tensor, numel, and others."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

from ..._backend.device import default_device
from ..._common.messages import legacy_type_name
from ..._dispatch.declare import method, public
from ..._dtypes import result_type_of
from ..._tensor.tensor import Tensor
from .._support.arguments import check_tensor, check_tensors
from .._support.memory_formats import lies_in
from .._support.new_tensor import memory_order
from ..memory.memory_format import channels_last, channels_last_3d, memory_format

_SEVERAL_ORDERS: Final = (
    "The tensor does not have unique dim order, or cannot map to exact one of the "
    "given memory formats."
)


@public
def is_tensor(obj: Any) -> bool:
    """Tell whether an object is a tensor."""
    return isinstance(obj, Tensor)


@public
def is_storage(obj: Any) -> bool:
    """Tell whether an object is a tensor's storage."""
    from ..memory.resize_set import UntypedStorage

    return isinstance(obj, UntypedStorage)


@public
def numel(input: Tensor) -> int:
    """Return the number of elements."""
    check_tensor(input, "numel")
    return input.numel()


@method(function=True)
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Tell whether two tensors have the same shape."""
    check_tensors("is_same_size", input=input, other=other)
    return input._data.shape == other._data.shape


@method(function=True)
def is_nonzero(input: Tensor) -> bool:
    """Tell whether a tensor's only element is not zero.

    Raises RuntimeError for a tensor with more elements, or none.
    """
    check_tensor(input, "is_nonzero")
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
def dim_order(
    self: Tensor, *, ambiguity_check: bool | list[memory_format] = False
) -> tuple[int, ...]:
    """Return the dimensions from the outermost in memory to the innermost.

    With ``ambiguity_check``, raises RuntimeError where dimensions of size 1 or equal
    strides allow several orders, unless exactly one of the memory formats that it
    lists fits the tensor.

    >>> import gradtape as torch
    >>> torch.zeros(2, 3, 5, 7).to(memory_format=torch.channels_last).dim_order()
    (0, 2, 3, 1)
    """
    given: Any = ambiguity_check
    named = given if isinstance(given, list) else []
    if not isinstance(given, bool | list) or not all(
        isinstance(each, memory_format) for each in named
    ):
        raise TypeError(
            "The ambiguity_check argument must be a bool or a list of memory formats."
        )
    size, strides = self._data.shape, self.stride()
    open_to_choice = 1 in size or any(a == b for a, b in pairwise(strides))
    if given is not False and open_to_choice and _fitting(self, named) != 1:
        raise RuntimeError(_SEVERAL_ORDERS)
    rows = self.is_contiguous()
    last = lies_in(size, strides, channels_last) or lies_in(
        size, strides, channels_last_3d
    )
    if rows and not last:
        return tuple(range(self.dim()))
    if last and not rows:
        return (0, *range(2, self.dim()), 1)
    order = memory_order(size, [strides])
    nested = all(strides[a] > strides[b] > 0 for a, b in pairwise(order))
    if given and not nested:
        raise RuntimeError("The tensor does not have unique dim order.")
    return tuple(order)


def _fitting(self: Tensor, formats: list[memory_format]) -> int:
    return sum(self.is_contiguous(memory_format=each) for each in formats)


@method()
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """Return the tensor itself; there is nothing to lock its memory for."""
    return self


@method(function=True)
def is_floating_point(input: Tensor) -> bool:
    """Tell whether the elements are floats."""
    check_tensor(input, "is_floating_point")
    return input.dtype.is_floating_point


@method(function=True)
def is_complex(input: Tensor) -> bool:
    """Tell whether the elements are complex numbers."""
    check_tensor(input, "is_complex")
    return input.dtype.is_complex


@method(function=True)
def is_signed(input: Tensor) -> bool:
    """Tell whether the elements can be negative."""
    return input.dtype.is_signed
