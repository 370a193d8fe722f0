"""PyTorch's old type names: FloatTensor and the rest, ``type()``, ``Tensor(2, 3)``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._backend.device import device as Device
from ..._common.messages import legacy_type_name
from ..._common.type_name import type_name
from ..._dispatch.declare import FUNCTIONS, method
from ..._dtypes import (
    CPP_TYPE,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from ..._dtypes import dtype as DType
from ..._overrides.torch_function import DisableTorchFunctionSubclass
from ..._tensor.size import Size
from ..._tensor.tensor import Tensor
from .._support.arguments import is_integer, sizes
from .._support.new_tensor import made
from ..memory.conversion import cast
from ..memory.typed_storage import TypedStorage
from ..memory.untyped_storage import UntypedStorage
from ..sparse.create import sparse_new
from ..tensor.subclasses import retyped
from ..views.permute import _alias
from .factories import empty
from .from_data import array_from

_OPTIONS = (
    "TensorOptions(dtype={}, device=cpu, layout=Strided, requires_grad=false (default),"
    " pinned_memory=false (default), memory_format=(nullopt))"
)


def legacy_new(given: tuple[Any, ...], kind: DType) -> Tensor:
    """Make a tensor as ``Tensor(…)`` does: sizes give no values, a sequence gives them.

    Raises TypeError for a lone float, which is neither.
    """
    if not given:
        return empty(0, dtype=kind)
    data = given[0]
    if len(given) == 1 and isinstance(data, Tensor):
        with DisableTorchFunctionSubclass():  # the class asked for is the one to get
            return _alias(data)
    if len(given) == 1 and isinstance(data, UntypedStorage | TypedStorage):
        return _over_storage(data, kind)
    if len(given) == 1 and isinstance(data, str):
        raise TypeError("new(): invalid data type 'str'")
    if len(given) == 1 and (isinstance(data, np.ndarray) or not is_integer(data)):
        if type(data).__name__ == "Size":
            return empty(tuple(data), dtype=kind)
        if isinstance(data, float | complex | bool):
            raise TypeError(
                f"new(): data must be a sequence (got {type(data).__name__})"
            )
        return made(array_from(data, kind))
    if len(given) > 1 and isinstance(data, Sequence):
        raise TypeError(_NO_FORM.format(", ".join(map(type_name, given))))
    return empty(sizes(given, "new", "size"), dtype=kind)


_NO_FORM = """\
new() received an invalid combination of arguments - got ({}), but expected one of:
 * (*, torch.device device = None)
 * (torch.Storage storage)
 * (Tensor other)
 * (tuple of ints size, *, torch.device device = None)
 * (object data, *, torch.device device = None)
"""


def _over_storage(storage: Any, kind: DType) -> Tensor:
    """Look into a storage as numbers of a type; it must be of that type, or bytes."""
    if isinstance(storage, TypedStorage) and storage.dtype is not kind:
        raise RuntimeError(
            f"Expected a Storage of type {kind.cpp_name} or an UntypedStorage, but got "
            f"type {storage.dtype.cpp_name} for argument 1 'storage'"
        )
    return empty(0, dtype=kind).set_(storage)


def check_device(named: dict[str, Any]) -> None:
    """Refuse a device that old constructors do not know, and forget the host."""
    given = named.pop("device", None)
    if given is not None and Device(given).type != "cpu":
        raise RuntimeError(
            "legacy constructor expects device type: cpu but device type: "
            f"{Device(given).type} was passed"
        )


def _new_tensor(cls: type[Tensor], *given: Any, **named: Any) -> Tensor:
    if named.get("device") is not None and given and isinstance(given[0], Tensor):
        raise RuntimeError(
            "Legacy tensor constructor of the form torch.Tensor(tensor, device=device) "
            "is not supported.  Use torch.tensor(...) or torch.as_tensor(...) instead."
        )
    check_device(named)
    found = legacy_new(given or tuple(named.values()), get_default_dtype())
    return found if cls is Tensor else retyped(found, cls)


Tensor.__new__ = _new_tensor  # type: ignore[assignment]


@method("new")
def new(self: Tensor, *given: Any, size: Any = None, device: Any = None) -> Tensor:
    """Return a tensor of this dtype: of the given sizes, or with the given values.

    Raises TypeError for a tensor of another dtype.
    """
    check_device({"device": device})
    if device is not None and given and isinstance(given[0], Tensor):
        raise RuntimeError(
            "Legacy tensor new of the form tensor.new(tensor, device=device) is not "
            "supported.  Use torch.as_tensor(...) instead."
        )
    if self.is_sparse:
        sizes_given = {} if size is None else {"size": Size(size)}
        return sparse_new("SparseTensor.new", given, sizes_given, self.dtype)[0]
    if size is not None:
        return empty(sizes(size, "new"), dtype=self.dtype)
    if len(given) == 1 and isinstance(given[0], Tensor):
        wanted, found = self.dtype, given[0].dtype
        if wanted is not found:
            told = [_OPTIONS.format(CPP_TYPE[each]) for each in (wanted, found)]
            raise TypeError("expected {} (got {})".format(*told))
    return legacy_new(given, self.dtype)


class LegacyType(type):
    """The type of FloatTensor and the rest: a name for tensors of one dtype."""

    dtype: DType

    def __new__(
        mcs, name: str, bases: tuple[type, ...], space: dict[str, Any]
    ) -> LegacyType:
        for base in bases:
            raise TypeError(
                f"type 'torch.{base.__name__}' is not an acceptable base type"
            )
        return super().__new__(mcs, name, bases, space)

    def __instancecheck__(cls, instance: object) -> bool:
        return (
            isinstance(instance, Tensor)
            and instance.dtype is cls.dtype
            and not (instance.is_cuda or instance.is_sparse)
        )

    def __call__(cls, *given: Any, **named: Any) -> Tensor:
        check_device(named)
        return legacy_new(given, cls.dtype)

    def converted(cls, tensor: Tensor) -> Tensor:
        """Return a tensor as one of this type."""
        return cast(tensor, cls.dtype)

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


TYPES: dict[str, LegacyType] = {}
"""The types of host tensors, by name."""

BY_FULL_NAME: dict[str, LegacyType] = {}
"""All of them, by the name that ``type()`` returns."""

for _dtype in (
    *(bfloat16, bool_, float16, float32, float64),
    *(int8, int16, int32, int64, uint8),
):
    _full = legacy_type_name(_dtype)
    _name = _full.rpartition(".")[2]
    TYPES[_name] = LegacyType(_name, (), {"dtype": _dtype, "__module__": "gradtape"})
    BY_FULL_NAME[_full] = TYPES[_name]

FUNCTIONS.update(TYPES)


@method("type")
def type_(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Return the old name of the tensor's type, or the tensor cast to a type."""
    if dtype is None:
        name = legacy_type_name(self.dtype, self.is_sparse)
        return name.replace("torch.", "torch.cuda.", 1) if self.is_cuda else name
    if dtype is Tensor or dtype == "torch.Tensor":
        dtype = get_default_dtype()
    if isinstance(dtype, str):
        if dtype not in BY_FULL_NAME:
            raise ValueError(f"invalid type: '{dtype}'")
        dtype = BY_FULL_NAME[dtype]
    if isinstance(dtype, LegacyType):
        return dtype.converted(self)
    if not isinstance(dtype, DType | type):
        raise TypeError("dtype must be a type, str, or dtype object")
    if not isinstance(dtype, DType):
        raise ValueError(f"invalid type: '{getattr(dtype, '__name__', dtype)}'")
    return cast(self, dtype)
