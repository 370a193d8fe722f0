"""Where a view lies: arithmetic on sizes, strides and offsets, counted in elements.

Each function takes the geometry of a tensor and a view's arguments and returns the
geometry of the view, with PyTorch's strides (also where a size is 0 or 1) and errors.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from ..._dispatch.strided_views import Geometry, new_geometry
from .arguments import wrap_dim, wrap_dims

Sizes = tuple[int, ...]

_VIEW = (
    "view size is not compatible with input tensor's size and stride (at least one "
    "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
)
_AMBIGUOUS = (
    "cannot reshape tensor of 0 elements into shape {} because the unspecified "
    "dimension size -1 can be any value and is ambiguous"
)

_KEPT = 4096
"""How many views are kept: programs make the same ones at every step."""


def contiguous_strides(size: Sizes) -> Sizes:
    """Return the strides of a tensor of this size in row-major order."""
    strides: list[int] = []
    step = 1
    for length in reversed(size):
        strides.append(step)
        step *= max(length, 1)
    return tuple(reversed(strides))


def inferred_size(size: Sizes, numel: int) -> Sizes:
    """Replace the one -1 of a size by what ``numel`` elements leave for it."""
    known, free = 1, None
    for dim, length in enumerate(size):
        if length == -1:
            if free is not None:
                raise RuntimeError("only one dimension can be inferred")
            free = dim
        elif length < 0:
            raise RuntimeError(
                f"invalid shape dimension {length} at index {dim} of shape {list(size)}"
            )
        else:
            known *= length
    if free is None:
        if known != numel:
            raise RuntimeError(_invalid_shape(size, numel))
        return size
    if known == 0 and numel == 0:
        raise RuntimeError(_AMBIGUOUS.format(list(size)))
    if known == 0 or numel % known:
        raise RuntimeError(_invalid_shape(size, numel))
    return (*size[:free], numel // known, *size[free + 1 :])


def _invalid_shape(size: Sizes, numel: int) -> str:
    return f"shape '{list(size)}' is invalid for input of size {numel}"


def view_strides(at: Geometry, size: Sizes) -> Sizes | None:
    """Return the strides that show a tensor in another size; None if there are none.

    Works from the innermost dimension out, one contiguous block of the tensor at a
    time: a block can be divided anew at will, but no dimension can span two blocks.
    """
    if 0 in at.size:
        return at.stride if size == at.size else contiguous_strides(size)
    strides = [0] * len(size)
    new = len(size) - 1
    step = at.stride[-1] if at.stride else 1
    block = wanted = 1
    for dim in range(len(at.size) - 1, -1, -1):
        block *= at.size[dim]
        ends = dim == 0 or (
            at.size[dim - 1] != 1 and at.stride[dim - 1] != block * step
        )
        if not ends:
            continue
        while new >= 0 and (wanted < block or size[new] == 1):
            strides[new] = wanted * step
            wanted *= size[new]
            new -= 1
        if wanted != block:
            return None
        if dim > 0:
            step = at.stride[dim - 1]
            block = wanted = 1
    while not at.size and new >= 0:  # a 0-d tensor seen with dimensions of size 1
        strides[new] = 1
        new -= 1
    return None if new != -1 else tuple(strides)


def viewed(at: Geometry, size: Sizes) -> Geometry:
    """Return the geometry in another size, of ints."""
    size, strides = _viewed(at.size, at.stride, size)
    return new_geometry((size, strides, at.offset))


@lru_cache(_KEPT)
def _viewed(old: Sizes, stride: Sizes, size: Sizes) -> tuple[Sizes, Sizes]:
    size = inferred_size(size, math.prod(old))
    strides = view_strides(Geometry(old, stride, 0), size)
    if strides is None:
        raise RuntimeError(_VIEW)
    return size, strides


def placed(at: Geometry, size: Sizes, stride: Sizes) -> Geometry:
    """Return the geometry of a size and strides that were worked out before."""
    return new_geometry((size, stride, at.offset))


def same(at: Geometry) -> Geometry:
    """Return the geometry itself."""
    return at


def transposed(at: Geometry, dim0: Any, dim1: Any) -> Geometry:
    """Swap two dimensions."""
    i, j = wrap_dim(dim0, len(at.size)), wrap_dim(dim1, len(at.size))
    order = list(range(len(at.size)))
    if order:
        order[i], order[j] = j, i
    return _reordered(at, order)


def matrix_transposed(at: Geometry) -> Geometry:
    """Swap the two dimensions of a matrix; leave vectors and numbers as they are."""
    if len(at.size) > 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 dimensions, but self is {len(at.size)}D"
        )
    return new_geometry((at.size[::-1], at.stride[::-1], at.offset))


def permuted(at: Geometry, dims: Any) -> Geometry:
    """Put the dimensions in another order."""
    ndim = len(at.size)
    if len(dims) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not "
            f"match the length of the desired ordering of dimensions i.e. "
            f"input.dim() = {ndim} is not equal to len(dims) = {len(dims)}"
        )
    order: list[int] = []
    for dim in dims:
        wrapped = wrap_dim(dim, ndim)
        if wrapped in order:
            raise RuntimeError("permute(): duplicate dims are not allowed.")
        order.append(wrapped)
    return _reordered(at, order)


def _reordered(at: Geometry, order: list[int]) -> Geometry:
    size, stride, offset = at
    return new_geometry(
        (tuple([size[d] for d in order]), tuple([stride[d] for d in order]), offset)
    )


def unsqueezed(at: Geometry, dim: Any) -> Geometry:
    """Insert a dimension of size 1."""
    d = wrap_dim(dim, len(at.size) + 1)
    step = at.size[d] * at.stride[d] if d < len(at.size) else 1
    return Geometry(
        (*at.size[:d], 1, *at.size[d:]),
        (*at.stride[:d], step, *at.stride[d:]),
        at.offset,
    )


def squeezed(at: Geometry) -> Geometry:
    """Drop all dimensions of size 1."""
    return _without(at, [d for d, n in enumerate(at.size) if n == 1])


def squeezed_dim(at: Geometry, dim: Any) -> Geometry:
    """Drop one dimension if its size is 1."""
    d = wrap_dim(dim, len(at.size))
    return _without(at, [d] if at.size and at.size[d] == 1 else [])


def squeezed_dims(at: Geometry, dim: Any) -> Geometry:
    """Drop those of several dimensions whose size is 1."""
    dims = wrap_dims(dim, len(at.size))
    return _without(at, [d for d in dims if at.size and at.size[d] == 1])


def _without(at: Geometry, dropped: list[int]) -> Geometry:
    return _reordered(at, [d for d in range(len(at.size)) if d not in dropped])


def expanded(at: Geometry, size: Sizes, implicit: bool = False) -> Geometry:
    """Repeat dimensions of size 1, and add new ones in front, with stride 0."""
    size, strides = _expanded(at.size, at.stride, size)
    return new_geometry((size, strides, at.offset))


@lru_cache(_KEPT)
def _expanded(old: Sizes, stride: Sizes, size: Sizes) -> tuple[Sizes, Sizes]:
    ndim, lead = len(size), len(size) - len(old)
    if lead < 0:
        raise RuntimeError(
            f"the number of sizes provided ({ndim}) must be greater or equal to the "
            f"number of dimensions in the tensor ({len(old)})"
        )
    lengths, strides = [0] * ndim, [0] * ndim
    if not old and all(n >= 0 for n in size):
        return size, tuple(strides)
    for d in range(ndim - 1, -1, -1):
        if d >= lead:
            length, step = old[d - lead], stride[d - lead]
        else:
            length = 1
            step = lengths[d + 1] * strides[d + 1] if d < ndim - 1 else 1
        lengths[d], strides[d] = _expanded_dim(old, size, d, lead, length, step)
    return tuple(lengths), tuple(strides)


def _expanded_dim(
    old: Sizes, size: Sizes, d: int, lead: int, length: int, step: int
) -> tuple[int, int]:
    target = size[d]
    if target == -1:
        if d < lead:
            raise RuntimeError(
                "The expanded size of the tensor (-1) isn't allowed in a leading, "
                f"non-existing dimension {d}"
            )
        return length, step
    if length == target:
        return length, step
    if length != 1 or target < 0:
        raise RuntimeError(
            f"The expanded size of the tensor ({target}) must match the existing size "
            f"({length}) at non-singleton dimension {d}.  Target sizes: {list(size)}.  "
            f"Tensor sizes: {list(old)}"
        )
    return target, 0


def selected(at: Geometry, dim: Any, index: int) -> Geometry:
    """Take one position of a dimension, which disappears."""
    size, stride, offset = at
    if not size:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = wrap_dim(dim, len(size))
    length = size[d]
    if not -length <= index < length:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(size)} "
            f"at dimension {d}"
        )
    offset += (index % length) * stride[d]
    return new_geometry(
        (size[:d] + size[d + 1 :], stride[:d] + stride[d + 1 :], offset)
    )


def sliced(
    at: Geometry, dim: Any, start: int | None, end: int | None, step: int = 1
) -> Geometry:
    """Take every ``step``-th position from ``start`` up to ``end`` of a dimension."""
    if not at.size:
        raise RuntimeError("slice() cannot be applied to a 0-dim tensor.")
    d = wrap_dim(dim, len(at.size))
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    length = at.size[d]
    first, last, _ = slice(start, end).indices(length)
    count = max(0, -(-(max(last, first) - first) // step))
    offset = at.offset + first * at.stride[d]
    return Geometry(
        (*at.size[:d], count, *at.size[d + 1 :]),
        (*at.stride[:d], at.stride[d] * step, *at.stride[d + 1 :]),
        offset,
    )


def diagonalized(at: Geometry, offset: int, dim1: Any, dim2: Any) -> Geometry:
    """Take the diagonal of two dimensions; it becomes the last dimension."""
    i, j = wrap_dim(dim1, len(at.size)), wrap_dim(dim2, len(at.size))
    if i == j:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    rows = at.size[i] - max(-offset, 0)
    columns = at.size[j] - max(offset, 0)
    count = max(min(rows, columns), 0)
    start = at.offset
    if count:
        start += offset * at.stride[j] if offset >= 0 else -offset * at.stride[i]
    rest = _without(at, [i, j])
    return Geometry(
        (*rest.size, count), (*rest.stride, at.stride[i] + at.stride[j]), start
    )


def unfolded(at: Geometry, dimension: Any, size: int, step: int) -> Geometry:
    """Show every window of ``size`` positions along a dimension, in a new last one."""
    d = wrap_dim(dimension, len(at.size))
    length = at.size[d] if at.size else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > length:
        raise RuntimeError(
            f"maximum size for tensor at dimension {d} is {length} but size is {size}"
        )
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if not at.size:
        return Geometry((size,), (1,), at.offset)
    count = (length - size) // step + 1
    return Geometry(
        (*at.size[:d], count, *at.size[d + 1 :], size),
        (*at.stride[:d], step * at.stride[d], *at.stride[d + 1 :], at.stride[d]),
        at.offset,
    )
