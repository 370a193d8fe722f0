"""Masked reductions of COO tensors: only elements with coordinates take part."""

from __future__ import annotations

from typing import Any

from .._dispatch.declare import FUNCTIONS
from .._dtypes import bfloat16, float16, float32, int64
from .._dtypes import dtype as DType
from .._tensor.tensor import Tensor
from ..ops.memory.memory_format import sparse_coo
from ._identity import identity


def is_sparse(input: Tensor) -> bool:
    """Tell whether a tensor has coordinates in place of an array."""
    return input.layout is sparse_coo


def _keys(indices: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return one number a column of coordinates, in the order of the coordinates."""
    found = indices.new_zeros(indices.size(1))
    for each, size in zip(indices, shape, strict=False):
        found = found * size + each
    return found


def where_sparse(mask: Tensor, input: Tensor, fill: Tensor) -> Tensor:
    """Return what a mask leaves in of a COO tensor, both with the same sparse dims.

    The result has coordinates exactly where the mask has True; an element that the
    input has no coordinates for is 0 there. In dense dims, ``fill`` replaces what is
    masked out.
    """
    input, mask = input.coalesce(), mask.coalesce()
    inside: Any = mask.values()
    rows = inside.flatten(1).any(1) if inside.dim() > 1 else inside
    chosen = rows.nonzero()[:, 0]
    places: Any = mask.indices().index_select(1, chosen)
    sizes = input.shape[: input.sparse_dim()]
    wanted, known = _keys(places, sizes), _keys(input.indices(), sizes)
    values: Any = input.values()
    if not known.numel():
        found = values.new_zeros((wanted.size(0), *values.shape[1:]))
    else:
        at = FUNCTIONS["searchsorted"](known, wanted).clamp(max=known.numel() - 1)
        there = (known[at] == wanted).reshape(-1, *(1,) * (values.dim() - 1))
        found = values.index_select(0, at)
        if mask.dense_dim():
            found = FUNCTIONS["where"](inside.index_select(0, chosen), found, fill)
        found = FUNCTIONS["where"](there, found, values.new_zeros(()))
    result = FUNCTIONS["sparse_coo_tensor"](places, found, input.shape)
    return result._coalesced_(True)


def reduced(
    name: str, inside: Tensor, dims: tuple[int, ...], keepdim: bool, kind: DType
) -> Tensor:
    """Reduce the elements with coordinates; ``name`` is sum, prod, amax or amin.

    The result is a COO tensor too.
    """
    count = inside.sparse_dim()
    dims = tuple(d for d in dims if d < inside.dim())  # a number has none
    values: Any = inside._values()
    values = values.to(kind)
    dense = tuple(d + 1 - count for d in dims if d >= count)
    for each in reversed(dense):
        values = _reduce(name, values, each, keepdim, kind)
    gone = [d for d in dims if d < count]
    if len(gone) == count:
        if values.size(0) or name in ("sum", "prod"):
            values = _reduce(name, values, 0, False, kind)
        else:
            values = values.new_full(values.shape[1:], identity(name, kind))
        shape = (*(1,) * count, *values.shape) if keepdim else values.shape
        return values.reshape(shape).to_sparse()
    places: Any = inside._indices()
    if keepdim:
        places = places.index_fill(0, places.new_tensor(gone, dtype=int64), 0)
    else:
        places = places[[d for d in range(count) if d not in gone]]
    if places.numel():
        places, values = _gathered(name, places, values)
    shape = [1 if d in dims else n for d, n in enumerate(inside.shape)]
    if not keepdim:
        shape = [n for d, n in enumerate(inside.shape) if d not in dims]
    return FUNCTIONS["sparse_coo_tensor"](places, values, shape, dtype=kind)


def _gathered(name: str, places: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Reduce the values that share their coordinates."""
    places, groups = places.unique(return_inverse=True, dim=1)
    kind = values.dtype
    wide = values.to(float32) if kind in (bfloat16, float16) else values
    shape = (places.size(1), *wide.shape[1:])
    groups = groups.reshape(-1, *(1,) * (wide.dim() - 1)).expand(wide.shape)
    found = wide.new_zeros(shape).scatter_reduce(
        0, groups, wide, name, include_self=False
    )
    return places, found.to(kind)


def _reduce(name: str, values: Tensor, dim: int, keepdim: bool, kind: DType) -> Any:
    if name in ("sum", "prod"):
        return FUNCTIONS[name](values, dim, keepdim, dtype=kind)
    return FUNCTIONS[name](values, dim, keepdim)
