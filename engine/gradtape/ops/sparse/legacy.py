"""Sparse tensors from older calls: ``sparse.FloatTensor(…)`` and ``s.new(…)``."""

from __future__ import annotations

from typing import Any, Final

from ..._common.type_name import type_name
from ..._dtypes import dtype as DType
from ..._tensor.tensor import Tensor
from ..creation.full import empty
from ..memory.memory_format import sparse_coo
from .create import sparse_coo_tensor

_PARTS: Final = ("indices", "values", "size")
_SEQUENCE: Final = (
    "{name}(sequence) only accepts sizes.  Please use torch.sparse_coo_tensor() or "
    "construct a strided tensor and convert it to sparse via to_sparse."
)
_FORMS: Final = """\
new() received an invalid combination of arguments - got ({}), but expected one of:
 * (*, torch.device device = None)
 * (Tensor indices, Tensor values, *, torch.device device = None)
 * (Tensor indices, Tensor values, tuple of ints size, *, torch.device device = None)
 * (tuple of ints size, *, torch.device device = None)
"""


def sparse_new(
    name: str, given: tuple[Any, ...], named: dict[str, Any], kind: DType
) -> tuple[Tensor, str]:
    """Make a sparse tensor of coordinates and values, or one of a size, all zero.

    Returns what PyTorch calls the arguments, too. Raises TypeError for other ones.
    """
    given = (*given, *(named.pop(part) for part in _PARTS if part in named), *named)
    if len(given) in (2, 3) and all(isinstance(part, Tensor) for part in given[:2]):
        found = given[0].dtype.cpp_name
        if found != "Long":
            raise RuntimeError(f"expected scalar type Long but found {found}")
        called = ", ".join(["indices", "values", "shape"][: len(given)])
        return sparse_coo_tensor(*given), called
    if len(given) == 1 and isinstance(given[0], list | tuple):
        if type(given[0]) in (list, tuple):
            raise TypeError(_SEQUENCE.format(name=name))
        given = tuple(given[0])
    if any(type(size) is not int for size in given):
        raise TypeError(_FORMS.format(", ".join(map(type_name, given))))
    found = empty(given or (0,), dtype=kind, layout=sparse_coo)
    return found, "shape" if given else ""
