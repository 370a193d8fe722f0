"""``sparse.FloatTensor`` and the rest: old names for sparse tensors of one dtype."""

from __future__ import annotations

from typing import Any, Final

from .._common.warn import warn_once
from .._tensor.tensor import Tensor
from ..ops.creation.legacy_types import BY_FULL_NAME, TYPES, LegacyType, check_device
from ..ops.sparse.create import sparse_new

_NAME: Final = "torch.sparse.SparseTensor"
_DEPRECATED: Final = (
    _NAME + "({old}) is deprecated.  Please use torch.sparse_coo_tensor({new})."
)


class SparseType(LegacyType):
    """The type of sparse.FloatTensor and the rest."""

    def __instancecheck__(self, instance: object) -> bool:
        return (
            isinstance(instance, Tensor)
            and instance.is_sparse
            and instance.dtype is self.dtype
        )

    def __call__(self, *given: Any, **named: Any) -> Tensor:
        check_device(named)
        found, called = sparse_new(_NAME, given, named, self.dtype)
        old = f"{called}, *, device=" if called else ""
        new = f"{called}, dtype=, device=" if called else "(0,), dtype="
        warn_once(_DEPRECATED.format(old=old, new=new))
        return found

    def __repr__(self) -> str:
        return f"<class 'torch.sparse.{self.__name__}'>"


TENSOR_TYPES: Final[dict[str, SparseType]] = {}
"""By name."""

for _name, _dense in TYPES.items():
    if _name != "BoolTensor":
        _facts = {"dtype": _dense.dtype, "__module__": "torch.sparse"}
        TENSOR_TYPES[_name] = SparseType(_name, (), _facts)
        BY_FULL_NAME[f"torch.sparse.{_name}"] = TENSOR_TYPES[_name]
