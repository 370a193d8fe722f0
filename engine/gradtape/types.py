"""``torch.types``: what signatures are written with."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import IO, TypeAlias

from ._backend.device import device as _device
from ._dtypes import dtype as _dtype
from ._tensor.size import Size as Size
from ._tensor.tensor import Tensor as Tensor
from .autograd.graph import GradientEdge
from .ops.memory.memory_format import layout as _layout
from .ops.memory.untyped_storage import UntypedStorage
from .ops.tensor.symbolic_numbers import SymBool, SymFloat, SymInt

__all__ = ["Device", "FileLike", "Number", "Storage"]

_bool, _bytes, _complex = builtins.bool, builtins.bytes, builtins.complex
_float, _int, _str = builtins.float, builtins.int, builtins.str

Number: TypeAlias = builtins.int | builtins.float | builtins.bool
_Number = (builtins.int, builtins.float, builtins.bool)
Device: TypeAlias = _device | builtins.str | builtins.int | None
FileLike: TypeAlias = builtins.str | os.PathLike[builtins.str] | IO[builtins.bytes]

_size: TypeAlias = Size | list[builtins.int] | tuple[builtins.int, ...]
_symsize: TypeAlias = Size | Sequence[builtins.int]
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrOptionalTensors: TypeAlias = Tensor | Sequence[Tensor | None]
_TensorOrTensorsOrGradEdge: TypeAlias = (
    Tensor | Sequence[Tensor] | GradientEdge | Sequence[GradientEdge]
)

IntLikeType: TypeAlias = builtins.int | SymInt
FloatLikeType: TypeAlias = builtins.float | SymFloat
BoolLikeType: TypeAlias = builtins.bool | SymBool
Storage: TypeAlias = UntypedStorage
py_sym_types = (SymInt, SymFloat, SymBool)
_also = (_dtype, _layout)
