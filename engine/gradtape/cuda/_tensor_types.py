"""``cuda.FloatTensor`` and the rest: names for tensors of one dtype on a device."""

from __future__ import annotations

from typing import Any, Final

from .._backend import cuda as _cuda
from .._tensor.tensor import Tensor
from ..ops.creation.legacy_types import BY_FULL_NAME, TYPES, LegacyType, legacy_new

NOT_AVAILABLE: Final = (
    "type torch.cuda.{name} not available. Torch not compiled with CUDA enabled."
)


class CudaType(LegacyType):
    """The type of cuda.FloatTensor and the rest."""

    def __instancecheck__(self, instance: object) -> bool:
        return (
            isinstance(instance, Tensor)
            and instance.is_cuda
            and instance.dtype is self.dtype
        )

    def __call__(self, *given: Any, **named: Any) -> Tensor:
        if not _cuda.is_available():
            raise TypeError(NOT_AVAILABLE.format(name=self.__name__))
        return legacy_new(given, self.dtype).cuda()

    def converted(self, tensor: Tensor) -> Tensor:
        """Return a tensor as one of this type, on the device."""
        return tensor.to(device="cuda", dtype=self.dtype)

    def __repr__(self) -> str:
        return f"<class 'torch.cuda.{self.__name__}'>"


TENSOR_TYPES: Final[dict[str, CudaType]] = {}
"""By name."""

for _name, _host in TYPES.items():
    _facts = {"dtype": _host.dtype, "__module__": "torch.cuda"}
    TENSOR_TYPES[_name] = CudaType(_name, (), _facts)
    BY_FULL_NAME[f"torch.cuda.{_name}"] = TENSOR_TYPES[_name]
