"""Copies and casts: clone, contiguous, detach, ``to`` and its short names."""

from __future__ import annotations

from typing import Any

from .._apply import apply
from .._backend import backend_of
from .._define import OPS, Array, method, op
from .._device import device as Device
from .._dtypes import (
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
    parse_dtype,
    uint8,
)
from .._dtypes import dtype as DType
from .._mode import mode
from .._saved_checks import note_detached
from .._sparse import SparseArray
from .._tensor import Tensor, wrap, wrap_alias
from .._warn import warn_once
from ._place import array_like, dense_copy, module_on, row_major
from .formats import preserve_format

_DISCARDS = "Casting complex values to real discards the imaginary part"


# ---- copies ----


@op({"self": lambda F, grad: grad}, name="clone", method=False, function=False)
def _clone(xp: Any, self: Array, dense: bool = True) -> Any:
    """Copy the tensor; with ``dense``, in the memory order it has."""
    if not dense:
        return row_major(xp, self.copy())
    if self.flags.c_contiguous and 1 not in self.shape:
        return self.copy()
    return dense_copy(xp, self)


@method(function=True)
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """Return a copy; gradients flow through to the original.

    >>> import gradtape as torch
    >>> x = torch.zeros(2)
    >>> x.clone().add_(1), x
    (tensor([1., 1.]), tensor([0., 0.]))
    """
    keeps = memory_format in (None, preserve_format)
    return apply(OPS["clone"], (input,), (keeps,))


@method()
def contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    """Return the tensor itself if it lies in row-major order, a copy otherwise."""
    if is_contiguous(self):
        return self
    return apply(OPS["clone"], (self,), (False,))


@method()
def is_contiguous(self: Tensor, memory_format: Any = None) -> bool:
    """Tell whether the elements lie in row-major order without gaps."""
    return bool(self._data.flags.c_contiguous)


@method(function=True)
def detach(self: Tensor) -> Tensor:
    """Return a tensor over the same memory that no gradient flows through."""
    if type(self._data) is SparseArray:
        return wrap(self._data.alias())
    return wrap_alias(self._data, self)


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


@op(
    {"self": lambda F, grad, self_dtype: F._to_copy(grad, self_dtype)},
    method=False,
    function=False,
)
def _to_copy(xp: Any, self: Array, dtype: DType, dense: bool = True) -> Any:
    """Copy to another dtype; with ``dense``, in the memory order it has."""
    kind = dtype.numpy
    if self.dtype.kind == "c" and kind.kind != "c":
        self = self != 0 if kind.kind == "b" else self.real
    if not dense or (self.flags.c_contiguous and 1 not in self.shape):
        return self.astype(kind, "C")
    copy = array_like(xp, self, dtype)
    copy[...] = self
    return copy


def warn_discards(stacklevel: int) -> None:
    """Warn that a cast loses imaginary parts."""
    warn_once(_DISCARDS, stacklevel)


def cast(self: Tensor, dtype: DType, copy: bool = False) -> Tensor:
    """Return the tensor in another dtype; itself if it has it already."""
    if self.dtype is dtype and not copy:
        return self
    if self.dtype.is_complex and not dtype.is_complex and dtype is not bool_:
        warn_discards(4)
    return apply(OPS["_to_copy"], (self,), (dtype, True))


@method()
def to(self: Tensor, *given: Any, **named: Any) -> Tensor:
    """Return the tensor with another dtype, device, or both.

    ``to(dtype)``, ``to(device, dtype)`` and ``to(other)`` all work; the tensor itself
    is returned where nothing changes, unless ``copy=True``.

    >>> import gradtape as torch
    >>> torch.tensor([1, 2]).to(torch.float64)
    tensor([1., 2.], dtype=torch.float64)
    """
    dtype, where, copy = _target(self, list(given), named)
    if where is not None and _differs(where, self.device):
        return to_device(self, where).to(dtype or self.dtype)
    return cast(self, self.dtype if dtype is None else dtype, copy)


def _differs(where: Device, mine: Device) -> bool:
    return where.type != mine.type or where.index not in (None, mine.index)


def _target(
    self: Tensor, given: list[Any], named: dict[str, Any]
) -> tuple[DType | None, Device | None, bool]:
    dtype, where = named.get("dtype"), named.get("device")
    other = named.get("other")
    if given and isinstance(given[0], Tensor):
        other = given.pop(0)
    if other is not None:
        dtype, where = other.dtype, other.device
    elif given and (isinstance(given[0], DType) or given[0] in (float, int, bool)):
        dtype = given.pop(0)
    elif given:
        where = given.pop(0)
        if given:
            dtype = given.pop(0)
    rest = [*given, named.get("non_blocking", False)]
    copy = named.get("copy", rest[1] if len(given) > 1 else False)
    return (
        None if dtype is None else parse_dtype(dtype, "to"),
        None if where is None else Device(where),
        bool(copy),
    )


@op(
    {"self": lambda F, grad: F._from_device(grad)},
    name="_onto_device",
    node="ToCopyBackward0",
    method=False,
    function=False,
)
def _onto_device(xp: Any, self: Array, index: int | None = None) -> Any:
    """Copy from the host to a CUDA device."""
    from .._backend import cupy_backend

    cupy = cupy_backend().xp
    with cupy.cuda.Device(index or 0):
        return cupy.asarray(self)


@op(
    {"self": lambda F, grad: F._onto_device(grad)},
    name="_from_device",
    node="ToCopyBackward0",
    method=False,
    function=False,
)
def _from_device(xp: Any, self: Array) -> Any:
    """Copy from a CUDA device to the host."""
    return backend_of(self).to_host(self)


def to_device(self: Tensor, where: Device) -> Tensor:
    """Copy the tensor to another device; gradients come back to this one.

    Raises RuntimeError where no array library serves the device.
    """
    module_on(where)  # refuses what does not exist
    if where.type == "cpu":
        return apply(OPS["_from_device"], (self,), ())
    source = self.cpu() if self.is_cuda else self
    return apply(OPS["_onto_device"], (source,), (where.index,))


@method()
def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """Return the tensor in host memory."""
    return to(self, Device("cpu"))


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
    def convert(self: Tensor, memory_format: Any = None) -> Tensor:
        return cast(self, dtype)

    convert.__name__ = name
    convert.__doc__ = f"Return the tensor as {dtype}."
    method(name)(convert)


for _name, _dtype in _SHORT_NAMES.items():
    _short_cast(_name, _dtype)


@method(function=True)
def is_floating_point(input: Tensor) -> bool:
    """Tell whether the elements are floats."""
    return input.dtype.is_floating_point


@method(function=True)
def is_complex(input: Tensor) -> bool:
    """Tell whether the elements are complex numbers."""
    return input.dtype.is_complex


@method(function=True)
def is_signed(input: Tensor) -> bool:
    """Tell whether the elements can be negative."""
    return input.dtype.is_signed
