"""New tensors from Python values and NumPy arrays: tensor, as_tensor, from_numpy."""

from __future__ import annotations

import warnings
from itertools import chain
from typing import Any

import numpy as np

from ..._common.site import user_stacklevel
from ..._common.warn import warn_once
from ..._dispatch.declare import method, public
from ..._dtypes import (
    DTYPE_OF,
    bool_,
    dtype_of_number,
    get_default_dtype,
    int64,
    parse_dtype,
)
from ..._dtypes import dtype as DType
from ..._modes.grad_mode import mode
from ..._storage.storage import sharing
from ..._tensor.tensor import Tensor, wrap, wrap_shared
from .._support.nested_sequences import borrowed, plain_numbers
from .._support.new_tensor import made, module_on
from .._support.scalar_range import whole_in_range
from ..memory.resize_storage import fix
from ..memory.typed_storage import TypedStorage
from ..memory.untyped_storage import UntypedStorage

_COPY_OF_TENSOR = (
    "To copy construct from a tensor, it is recommended to use "
    "sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than "
    "{}(sourceTensor)."
)
_LIST_OF_ARRAYS = (
    "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please "
    "consider converting the list to a single numpy.ndarray with numpy.array() before "
    "converting to a tensor."
)
_NEGATIVE_STRIDE = (
    "At least one stride in the given numpy array is negative, and tensors with "
    "negative strides are not currently supported. (You can probably work around this "
    "by making a copy of your array  with array.copy().) "
)
_NO_SUCH_DTYPE = (
    "can't convert np.ndarray of type {}. The only supported types are: float64, "
    "float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, "
    "uint32, uint16, uint8, and bool."
)
_PLAIN = frozenset((bool, int, float, complex))


@public
def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Return a new tensor with the given values: numbers, nested sequences, arrays.

    The values are always copied. Raises ValueError for ragged sequences.

    >>> import gradtape as torch
    >>> torch.tensor([[1, 2], [3, 4.5]])
    tensor([[1.0000, 2.0000],
            [3.0000, 4.5000]])
    """
    if isinstance(data, UntypedStorage | TypedStorage):
        kind = parse_dtype(dtype, "tensor") if dtype else get_default_dtype()
        return _over_storage(data, kind).requires_grad_(requires_grad)
    return _built(data, dtype, device, requires_grad, "torch.tensor", None)


def _over_storage(memory: Any, kind: DType) -> Tensor:
    """Return a tensor over the memory of a storage, which must hold its dtype."""
    if isinstance(memory, TypedStorage) and memory.dtype is not kind:
        raise RuntimeError(
            f"Expected a Storage of type {kind.cpp_name} or an UntypedStorage, but got "
            f"{memory.dtype.cpp_name}"
        )
    storage = memory.untyped()._storage
    return wrap_shared(storage.flat_as(kind.numpy), sharing(storage))


@method()
def new_tensor(
    self: Tensor,
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """Return a new tensor with the given values, of this tensor's dtype and device."""
    where = self.device if device is None else device
    return _built(data, dtype, where, requires_grad, "tensor.new_tensor", self.dtype)


def _built(
    data: Any, dtype: Any, device: Any, requires_grad: bool, name: str, default: Any
) -> Tensor:
    kind = default if dtype is None else parse_dtype(dtype, "tensor")
    if isinstance(data, Tensor):
        warnings.warn(
            _COPY_OF_TENSOR.format(name), UserWarning, stacklevel=user_stacklevel()
        )
        source = data._data
        where = data.device if device is None else device
        array = module_on(where).array(
            source, source.dtype if dtype is None else kind.numpy
        )
        return made(array, requires_grad)
    array = array_from(data, kind)
    xp = module_on(device)
    return made(array if xp is np else xp.asarray(array), requires_grad)


def array_from(data: Any, kind: DType | None) -> Any:
    """Return a new NumPy array with the values of ``data``.

    Without ``kind`` the values decide: one float makes all floats.
    """
    if isinstance(data, np.ndarray | np.generic):
        source = check_array(np.asarray(data))
        return mode.run(source.astype, source.dtype if kind is None else kind.numpy)
    if type(data) in _PLAIN:
        found = dtype_of_number(data) if kind is None else kind
        return mode.run(np.full, (), _fits(data, found), found.numpy)
    if isinstance(data, str | bytes):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if hasattr(data, "__dlpack__") and not isinstance(data, Tensor):
        return array_from(borrowed(data), kind)
    if not _is_sequence(data):
        if hasattr(data, "__array__"):
            return array_from(np.asarray(data), kind)
        raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    leaves, shape = _flattened(data)
    return _filled(leaves, shape, kind)


def check_array(array: Any) -> Any:
    """Return an array that a tensor can look into, or raise PyTorch's error."""
    if array.dtype not in DTYPE_OF and not array.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. "
            "Conversion between byte orders is currently not supported."
        )
    try:
        DTYPE_OF[array.dtype]
    except KeyError:
        kind = array.dtype.type.__name__
        raise TypeError(_NO_SUCH_DTYPE.format(f"numpy.{kind}")) from None
    if any(step < 0 for step in array.strides):
        raise ValueError(_NEGATIVE_STRIDE)
    if array.size and any(step % array.itemsize for step in array.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy "
            "the numpy array to reallocate the memory."
        )
    return array


def _is_sequence(data: Any) -> bool:
    if isinstance(data, Tensor | np.ndarray):
        return data.ndim > 0
    if isinstance(data, str | bytes | dict | set):
        return False
    found = hasattr(data, "__getitem__") and hasattr(data, "__len__")
    return found and getattr(data, "ndim", 1) > 0


def _flattened(data: Any) -> tuple[list[Any], tuple[int, ...]]:
    """Return the numbers in a nested sequence, and the shape they lie in.

    The first element of each level tells the shape; all others must agree.
    """
    try:
        level: list[Any] = list(data)
    except TypeError:
        raise ValueError(
            f"could not determine the shape of object type '{type(data).__name__}'"
        ) from None
    shape = [len(level)]
    if any(isinstance(item, np.ndarray) and item.ndim for item in level):
        warn_once(_LIST_OF_ARRAYS)
    while level and not isinstance(level[0], int | float) and _is_sequence(level[0]):
        if len(shape) > 128:
            raise ValueError(f"too many dimensions '{type(level[0]).__name__}'")
        if isinstance(level[0], Tensor):
            break  # one of a single element is a number; others are refused later
        wanted = len(level[0])
        for item in level:
            _check_length(item, wanted, len(shape))
        shape.append(wanted)
        level = list(chain.from_iterable(level))
    if level and isinstance(level[0], str):
        raise ValueError("too many dimensions 'str'")
    return level, tuple(shape)


def _check_length(item: Any, wanted: int, dim: int) -> None:
    if not _is_sequence(item):
        raise TypeError("not a sequence")
    if len(item) != wanted:
        raise ValueError(
            f"expected sequence of length {wanted} at dim {dim} (got {len(item)})"
        )


def _filled(leaves: list[Any], shape: tuple[int, ...], kind: DType | None) -> Any:
    kinds = set(map(type, leaves))
    if not kinds <= _PLAIN:
        leaves, special = plain_numbers(leaves)
        if kind is None:
            kind = special
    if kind is None:
        kind = _common_kind(kinds)
    if kind is bool_ and kinds <= _PLAIN:
        leaves = [bool(value) for value in leaves]
        kinds = {bool}
    if complex in kinds and not kind.is_complex:
        raise TypeError(
            "must be real number, not complex"
            if kind.is_floating_point
            else "'complex' object cannot be interpreted as an integer"
        )
    if kind is int64 and kinds <= {int, bool}:
        if leaves:
            _fits(min(leaves), kind)
            _fits(max(leaves), kind)
    elif (not kind.is_floating_point and not kind.is_complex) or int in kinds:
        leaves = [_fits(value, kind) for value in leaves]
    return mode.run(np.array, leaves, kind.numpy).reshape(shape)


def _common_kind(kinds: set[type]) -> DType:
    for each in (complex, float, int, bool):
        if each in kinds:
            return dtype_of_number(each())
    return get_default_dtype()


def _fits(value: Any, kind: DType) -> Any:
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        value = _large(value, kind)
    if kind.is_complex:
        return value
    if isinstance(value, complex):
        raise TypeError("must be real number, not complex")
    if kind.is_floating_point:
        return float(value)  # which may become infinite
    return bool(value) if kind is bool_ else whole_in_range(value, kind, kind.name)


def _large(value: int, kind: DType) -> Any:
    """Return an integer that 64 bits with a sign do not hold, as PyTorch takes it."""
    if kind.is_floating_point or kind.is_complex:
        return float(value)  # an OverflowError, if need be
    if kind.name == "bool":
        return True
    if kind.name != "uint64" or value < 0:
        raise ValueError("Overflow when unpacking long long")
    if value >= 2**64:
        raise OverflowError("int too big to convert")
    return value


@public
def from_numpy(ndarray: Any, /) -> Tensor:
    """Return a tensor that shares the memory of a NumPy array.

    >>> import numpy, gradtape as torch
    >>> array = numpy.zeros(2)
    >>> torch.from_numpy(array).fill_(1.0)
    tensor([1., 1.], dtype=torch.float64)
    >>> array
    array([1., 1.])
    """
    if not isinstance(ndarray, np.ndarray):
        kind = type(ndarray)
        shown = "numpy." * isinstance(ndarray, np.generic) + kind.__name__
        raise TypeError(f"expected np.ndarray (got {shown})")
    return share(check_array(ndarray))


def share(array: Any) -> Tensor:
    """Return a tensor over the memory of an array that its maker keeps using."""
    array = array.view(np.ndarray)  # its maker may give the array another shape
    if not array.flags.writeable:
        warn_once(_READ_ONLY)
    fix(array)
    return wrap(array)


_READ_ONLY = (
    "The given NumPy array is not writable, and PyTorch does not support non-writable "
    "tensors. This means writing to this tensor will result in undefined behavior. You "
    "may want to copy the array to protect its data or make it writable before "
    "converting it to a tensor. This type of warning will be suppressed for the rest "
    "of this program."
)


@public
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """Return ``data`` as a tensor, sharing its memory where that is possible."""
    if isinstance(data, Tensor):
        if dtype is None and device is None:
            return data
        return data.to(device=device, dtype=dtype)
    if isinstance(data, np.ndarray) and module_on(device) is np:
        found = share(check_array(data))
        return found if dtype is None else found.to(parse_dtype(dtype, "as_tensor"))
    return _built(data, dtype, device, False, "torch.as_tensor", None)
