"""The elements of nested sequences, as numbers with dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._common.type_name import is_pytorchs
from ..._dtypes import (
    DTYPE_OF,
    bfloat16,
    dtype_of_number,
    get_default_dtype,
    promote_types,
)
from ..._dtypes import dtype as DType
from ..._tensor.tensor import Tensor

_ONE_ELEMENT = "only one element tensors can be converted to Python scalars"
SELF_REFERENCE = "new(): self-referential lists are incompatible"


def plain_numbers(leaves: Sequence[Any]) -> tuple[list[Any], DType]:
    """Return leaves, tensors and NumPy scalars too, as numbers, and their dtype."""
    numbers: list[Any] = []
    common: DType | None = None
    for leaf in leaves:
        number, kind = _number(leaf)
        numbers.append(number)
        common = kind if common is None else promote_types(common, kind)
    return numbers, common or get_default_dtype()


def borrowed(data: Any) -> Any:
    """Return the values of another library's array, PyTorch's tensors included."""
    if not is_pytorchs(type(data)):
        return np.from_dlpack(data)
    data = data.detach().cpu()
    if str(data.dtype) == "torch.bfloat16":  # NumPy and DLPack do not share this type
        return data.float().numpy().astype(bfloat16.numpy)
    return data.numpy()


def _number(leaf: Any) -> tuple[Any, DType]:
    if isinstance(leaf, Tensor):
        if leaf.numel() != 1:
            raise ValueError(_ONE_ELEMENT)
        return leaf.item(), leaf.dtype
    if isinstance(leaf, np.ndarray | np.generic):
        return leaf.item(), DTYPE_OF[leaf.dtype]
    if isinstance(leaf, bool | int | float | complex):
        return leaf, dtype_of_number(leaf)
    if hasattr(leaf, "__dlpack__"):
        return _number(np.asarray(borrowed(leaf)))
    if isinstance(leaf, list) and id(leaf) in map(id, leaf):
        raise TypeError(SELF_REFERENCE)
    if isinstance(leaf, list | tuple):
        raise TypeError(
            f"'{type(leaf).__name__}' object cannot be interpreted as an integer"
        )
    if isinstance(leaf, str | bytes):
        raise TypeError(f"new(): invalid data type '{type(leaf).__name__}'")
    raise RuntimeError(f"Could not infer dtype of {type(leaf).__name__}")
