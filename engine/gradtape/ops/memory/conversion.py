"""Copies and casts: clone, contiguous, detach, ``to`` and its short names."""

from __future__ import annotations

from typing import Any

from ..._backend import META, NO_DATA, backend_of
from ..._backend.device import device as Device
from ..._common.warn import warn_once
from ..._dispatch.apply import apply
from ..._dispatch.declare import OPS, Array, method
from ..._dispatch.sum_to_shape import cast_back
from ..._dtypes import (
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from ..._dtypes import dtype as DType
from ..._modes.grad_mode import mode
from ..._overrides.torch_function import of_class
from ..._saved.checks import note_detached
from ..._sparse.array import SparseArray
from ..._tensor.tensor import Tensor, plain_types, wrap, wrap_alias
from .._support.memory_formats import (
    array_in,
    checked_format,
    copy_in,
    lies_in,
    required_format,
    suggested,
)
from .._support.new_tensor import module_on
from .._support.operands import hidden_op
from .._support.to_arguments import read_to
from .memory_format import contiguous_format, preserve_format

_DISCARDS = "Casting complex values to real discards the imaginary part"


# ---- copies ----


@hidden_op({"self": lambda F, grad: grad}, name="clone")
def _clone(xp: Any, self: Array, memory_format: Any = None) -> Any:
    """Copy the tensor; without a memory format, in the memory order it has."""
    return copy_in(xp, self, memory_format)


@method(function=True)
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """Return a copy; gradients flow through to the original.

    Raises RuntimeError for a memory format that is for tensors of another rank.

    >>> import gradtape as torch
    >>> x = torch.zeros(2)
    >>> x.clone().add_(1), x
    (tensor([1., 1.]), tensor([0., 0.]))
    """
    order = checked_format(memory_format, "clone", input)
    return apply(OPS["clone"], (input,), (order,))


@method()
def contiguous(self: Tensor, *, memory_format: Any = contiguous_format) -> Tensor:
    """Return the tensor itself if it lies in a memory format, a copy otherwise.

    Raises RuntimeError for ``preserve_format``, which names no order, and for a format
    that is for tensors of another rank.
    """
    if _lies_in(self, required_format(memory_format, "contiguous", self)):
        return self
    if memory_format is preserve_format:
        raise RuntimeError(
            "preserve memory format is unsupported by the contiguous operator"
        )
    return apply(OPS["clone"], (self,), (memory_format,))


@method()
def is_contiguous(self: Tensor, *, memory_format: Any = contiguous_format) -> bool:
    """Tell whether the elements lie without gaps, in row-major order or a format."""
    return _lies_in(self, required_format(memory_format, "is_contiguous", self))


def _lies_in(self: Tensor, given: Any) -> bool:
    if given is contiguous_format or given is preserve_format:
        return bool(self._data.flags.c_contiguous)
    return lies_in(self._data.shape, self.stride(), given)


@method(function=True)
def detach(self: Tensor) -> Tensor:
    """Return a tensor over the same memory that no gradient flows through."""
    if type(self._data) is SparseArray:
        return wrap(self._data.alias())
    found = wrap_alias(self._data, self)
    if mode.now.watch is not None:
        mode.now.watch.follow(self, found)
    return found if type(self) in plain_types else of_class(self, found)


@method("detach_", function=True)
def detach_(self: Tensor) -> Tensor:
    """Cut this tensor off its history; it becomes a leaf.

    Raises RuntimeError for a view, whose history is its base's.
    """
    if mode.now.inference:
        return self  # nothing of the graph is touched
    if self._base is not None:
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using "
            "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view "
            "is set as True, gradients are views of DDP buckets, and hence detach_() "
            "cannot be called on these gradients. To fix this error, please refer to "
            "the Optimizer.zero_grad() function in torch/optim/optimizer.py as the "
            "solution."
        )
    note_detached(self)
    self._grad_fn, self._nr, self._needs = None, 0, False
    if self._extra is not None:
        self._extra.carried = None
    return self


# ---- casts ----


@hidden_op(
    {"self": lambda F, grad, self_dtype: cast_back(F, grad, self_dtype)},
    recorded="cast",
)
def _to_copy(xp: Any, self: Array, dtype: DType, memory_format: Any = None) -> Any:
    """Copy to another dtype; without a memory format, in the memory order it has."""
    kind, values = dtype.numpy, self
    if self.dtype.kind == "c" and kind.kind != "c":
        values = self != 0 if kind.kind == "b" else self.real
    if kind.char == "e" and self.dtype.char == "d":
        values = self.astype(xp.float32)  # PyTorch rounds on the way, too
    rows = self.flags.c_contiguous and self.size and 1 not in self.shape
    if memory_format is None and rows:
        return values.astype(kind, "C")
    copy = array_in(xp, self, memory_format, dtype)
    copy[...] = values
    return copy


def warn_discards() -> None:
    """Warn that a cast loses imaginary parts."""
    warn_once(_DISCARDS)


def cast(
    self: Tensor, dtype: DType, copy: bool = False, memory_format: Any = None
) -> Tensor:
    """Return the tensor in another dtype; itself if it has it and lies as asked."""
    checked_format(memory_format, "to", self)
    if self.dtype is dtype and not copy and _suggests(self, memory_format):
        return self
    if self.dtype.is_complex and not dtype.is_complex and dtype is not bool_:
        warn_discards()
    return apply(OPS["_to_copy"], (self,), (dtype, memory_format))


def _suggests(self: Tensor, given: Any) -> bool:
    if given is None or given is preserve_format:
        return True
    return suggested(self._data.shape, self.stride()) is given


@method()
def to(self: Tensor, *given: Any, **named: Any) -> Tensor:
    """Return the tensor with another dtype, device, memory format, or all of them.

    ``to(dtype)``, ``to(device, dtype)`` and ``to(other)`` all work; the tensor itself
    is returned where nothing changes, unless ``copy=True``. Raises TypeError for
    arguments of other kinds, and RuntimeError for a memory format that is for tensors
    of another rank.

    >>> import gradtape as torch
    >>> torch.tensor([1, 2]).to(torch.float64)
    tensor([1., 2.], dtype=torch.float64)
    >>> torch.zeros(1, 3, 2, 2).to(memory_format=torch.channels_last).stride()
    (12, 1, 6, 3)
    """
    target = read_to(given, named)
    dtype = self.dtype if target.dtype is None else target.dtype
    if target.device is not None and _differs(target.device, self.device):
        moved = to_device(self, target.device)
        return cast(moved, dtype, memory_format=target.memory_format)
    return cast(self, dtype, target.copy, target.memory_format)


def _differs(where: Device, mine: Device) -> bool:
    return where.type != mine.type or where.index not in (None, mine.index)


@hidden_op(
    {"self": lambda F, grad: F._from_device(grad)},
    name="_onto_device",
    node="ToCopyBackward0",
    recorded="cast",
)
def _onto_device(xp: Any, self: Array, index: int | None = None) -> Any:
    """Copy from the host to a CUDA device."""
    from ..._backend import cupy_backend

    cupy = cupy_backend().xp
    with cupy.cuda.Device(index or 0):
        return cupy.asarray(self)


@hidden_op(
    {"self": lambda F, grad: F._onto_device(grad)},
    name="_from_device",
    node="ToCopyBackward0",
    recorded="cast",
)
def _from_device(xp: Any, self: Array) -> Any:
    """Copy from a CUDA device to the host."""
    return backend_of(self).to_host(self)


@hidden_op(
    {"self": lambda F, grad: F._from_device(grad)},
    name="_onto_meta",
    node="ToCopyBackward0",
    recorded="cast",
)
def _onto_meta(xp: Any, self: Array) -> Any:
    """Keep the shape, the strides and the dtype, and let go of the values."""
    return META.without_values(self)


def to_device(self: Tensor, where: Device) -> Tensor:
    """Copy the tensor to another device; gradients come back to this one.

    Raises RuntimeError where no array library serves the device.
    """
    module_on(where)  # refuses what does not exist
    if where.type == "cpu":
        return apply(OPS["_from_device"], (self,), ())
    if where.type == "meta":
        return apply(OPS["_onto_meta"], (self,), ())
    if self.is_meta:
        raise NotImplementedError(NO_DATA)
    source = self.cpu() if self.is_cuda else self
    return apply(OPS["_onto_device"], (source,), (where.index,))


@method()
def cpu(self: Tensor, *, memory_format: Any = None) -> Tensor:
    """Return the tensor in host memory."""
    return to(self, Device("cpu"), memory_format=checked_format(memory_format, "cpu"))


@method()
def cuda(self: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
    """Return the tensor on a CUDA device; raises RuntimeError for another device."""
    place = Device("cuda" if device is None else device)
    if place.type != "cuda":
        raise RuntimeError("Invalid device, must be cuda device")
    return to(self, place)


@method()
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """Return the tensor in the dtype of another."""
    return to(self, other)


_SHORT_NAMES = {
    "bfloat16": bfloat16,
    "bool": bool_,
    "byte": uint8,
    "cdouble": complex128,
    "cfloat": complex64,
    "char": int8,
    "double": float64,
    "float": float32,
    "half": float16,
    "int": int32,
    "long": int64,
    "short": int16,
}


def _short_cast(name: str, dtype: DType) -> None:
    def convert(self: Tensor, *, memory_format: Any = None) -> Tensor:
        return cast(self, dtype, False, checked_format(memory_format, name))

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"Return the tensor as {dtype}."
    method(name)(convert)


for _name, _dtype in _SHORT_NAMES.items():
    _short_cast(_name, _dtype)
