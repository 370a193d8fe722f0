"""Putting tensors together: cat, stack, and the functions made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._dispatch.declare import FUNCTIONS, OPS, Arrays, public, tensor_ops
from ..._dispatch.direct import bind_apply
from ..._dispatch.out import write_out
from ..._dtypes import DTYPE_OF, can_cast, promote_types
from ..._sparse.array import SparseArray
from ..._tensor.tensor import Tensor
from .._support.arguments import tensor_list, wrap_dim
from .._support.memory_formats import common_format, moved_into
from .._support.new_tensor import row_major
from .._support.operands import hidden_op
from ..memory.memory_format import contiguous_format
from ..views.reshape import reshape, unsqueeze

Sizes = tuple[int, ...]


def _common_dtype(arrays: Sequence[Any]) -> Any:
    kinds = dict.fromkeys(a.dtype for a in arrays)
    common = None
    for kind in kinds:
        found = DTYPE_OF[kind]
        common = found if common is None else promote_types(common, found)
    assert common is not None
    return common.numpy


def _are_plain(arrays: Sequence[Any]) -> bool:
    """Tell whether arrays are alike but for their sizes, and no images or volumes."""
    kind, ndim = arrays[0].dtype, arrays[0].ndim
    if ndim in (4, 5) or type(arrays[0]) is SparseArray:
        return False
    for array in arrays:  # noqa: SIM110 - all() over a generator takes twice as long
        if array.dtype is not kind or array.ndim != ndim:
            return False
    return True


# ---- cat ----


def _parts(F: Any, grad: Any, shapes: Sequence[Sizes], dim: int) -> list[Any]:
    found: list[Any] = []
    start = 0
    for shape in shapes:
        if shape == (0,) and len(grad.shape) != 1:
            found.append(F._new_zeros(grad, shape))
            continue
        end = start + shape[dim]
        found.append(F.slice(grad, dim, start, end, 1))
        start = end
    return found


@hidden_op(
    {
        "tensors": lambda F, grad, tensors_shape, dim: _parts(
            F, grad, tensors_shape, dim
        )
    },
    name="cat",
)
def _cat(xp: Any, tensors: Arrays, dim: int = 0) -> Any:
    """Join tensors along a dimension."""
    if _are_plain(tensors):
        if tensors[0].shape == (0,):  # then all are vectors, and any dimension will do
            dim = 0
        return row_major(xp, xp.concatenate(tensors, dim))
    kind = _common_dtype(tensors)
    if any(a.shape == (0,) for a in tensors):  # PyTorch skips these, of old habit
        tensors = [a for a in tensors if a.shape != (0,)]
        if not tensors:
            return xp.empty(0, kind)
    whole = xp.concatenate([a.astype(kind, copy=False) for a in tensors], dim)
    return moved_into(xp, whole, common_format(tensors))


@public
def cat(
    tensors: Any = None, dim: Any = 0, *, out: Tensor | None = None, axis: Any = None
) -> Tensor:
    """Join tensors along a dimension in which alone their sizes may differ.

    Raises RuntimeError where other sizes differ or there is nothing to join.

    >>> import gradtape as torch
    >>> torch.cat([torch.zeros(1), torch.ones(2)])
    tensor([0., 1., 1.])
    """
    given = tensor_list(tensors, "cat")
    dim = dim if axis is None else axis
    _check_cat(given, dim)
    if out is not None:
        _check_cast(given, out)
        return write_out(OPS["cat"], (given,), (dim,), out)
    return _apply_cat(OPS["cat"], (given,), (dim,))


_apply_cat = bind_apply(OPS["cat"])


tensor_ops.cat = cat
FUNCTIONS["concat"] = FUNCTIONS["concatenate"] = cat


def _check_cast(tensors: list[Tensor], out: Any) -> None:
    found = DTYPE_OF[_common_dtype([t._data for t in tensors])]
    if isinstance(out, Tensor) and not can_cast(found, out.dtype):
        raise TypeError(
            "torch.cat(): input types can't be cast to the desired output type "
            f"{out.dtype.cpp_name}"
        )


def _check_cat(tensors: list[Tensor], dim: int) -> None:
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for position, tensor in enumerate(tensors):
        if not tensor.dim():
            raise RuntimeError(
                f"zero-dimensional tensor (at position {position}) cannot be "
                "concatenated"
            )
    if type(tensors[0]._data) is SparseArray:  # whose kernel says what does not fit
        wrap_dim(dim, tensors[0].dim())
        return
    shapes = [t._data.shape for t in tensors]
    first = next((s for s in shapes if s != (0,)), None)
    if first is None:  # any dimension will do, of old habit
        return
    at = wrap_dim(dim, len(first))
    for position, shape in enumerate(shapes):
        if shape == (0,):
            continue
        if len(shape) != len(first):
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {len(first)} and "
                f"{len(shape)}"
            )
        for d, (n, m) in enumerate(zip(first, shape, strict=True)):
            if n != m and d != at:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {at}. Expected "
                    f"size {n} but got size {m} for tensor number {position} in the "
                    "list."
                )


# ---- stack ----


@hidden_op(
    {
        "tensors": lambda F, grad, tensors_shape, dim: [
            F.select(grad, dim, i) for i in range(len(tensors_shape))
        ]
    },
    name="stack",
)
def _stack(xp: Any, tensors: Arrays, dim: int = 0) -> Any:
    """Join tensors of one shape along a new dimension."""
    if _are_plain(tensors) and tensors[0].ndim > (end := dim % (tensors[0].ndim + 1)):
        size = tensors[0].shape
        whole = row_major(xp, xp.concatenate(tensors, end))
        return whole.reshape(*size[:end], len(tensors), *size[end:])
    kind = _common_dtype(tensors)
    arrays = [a.astype(kind, copy=False) for a in tensors]
    size, end = tensors[0].shape, dim % (tensors[0].ndim + 1)
    if end == len(size) or common_format(tensors) is contiguous_format:
        return row_major(xp, xp.stack(arrays, dim))
    whole = moved_into(xp, xp.concatenate(arrays, end), common_format(tensors))
    return whole.reshape(*size[:end], len(arrays), *size[end:])


@public
def stack(
    tensors: Any = None, dim: Any = 0, *, out: Tensor | None = None, axis: Any = None
) -> Tensor:
    """Join tensors of one shape along a new dimension.

    Raises RuntimeError where the shapes differ or there is nothing to join.

    >>> import gradtape as torch
    >>> torch.stack([torch.zeros(2), torch.ones(2)], 1)
    tensor([[0., 1.],
            [0., 1.]])
    """
    given = tensor_list(tensors, "stack")
    if not given:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = given[0]._data.shape
    dim = dim if axis is None else axis
    wrap_dim(dim, len(first) + 1)
    for position, tensor in enumerate(given):
        if tensor._data.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at "
                f"entry 0 and {list(tensor._data.shape)} at entry {position}"
            )
    if out is not None:
        return write_out(OPS["stack"], (given,), (dim,), out)
    return _apply_stack(OPS["stack"], (given,), (dim,))


_apply_stack = bind_apply(OPS["stack"])


tensor_ops.stack = stack


# ---- composed of these ----


@public
def atleast_1d(*tensors: Any) -> Any:
    """Give a 0-d tensor one dimension."""
    return _each("atleast_1d", tensors, lambda t: t if t.dim() else reshape(t, (1,)))


@public
def atleast_2d(*tensors: Any) -> Any:
    """Give tensors two dimensions at least; new ones come in front."""

    def grown(t: Tensor) -> Tensor:
        if t.dim() > 1:
            return t
        return unsqueeze(t, 0) if t.dim() else reshape(t, (1, 1))

    return _each("atleast_2d", tensors, grown)


@public
def atleast_3d(*tensors: Any) -> Any:
    """Give tensors three dimensions at least; a vector becomes the middle one."""

    def grown(t: Tensor) -> Tensor:
        if t.dim() > 2:
            return t
        if t.dim() == 2:
            return unsqueeze(t, -1)
        return unsqueeze(unsqueeze(t, 0), -1) if t.dim() else reshape(t, (1, 1, 1))

    return _each("atleast_3d", tensors, grown)


def _each(name: str, tensors: tuple[Any, ...], change: Any) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return change(tensors[0])
    given = tensors[0] if len(tensors) == 1 else tensors
    return tuple(change(t) for t in tensor_list(given, name))


@public
def hstack(tensors: Any, *, out: Tensor | None = None) -> Tensor:
    """Join along the second dimension, or the only one."""
    given = atleast_1d(tensor_list(tensors, "hstack"))
    if not given:
        raise RuntimeError("hstack expects a non-empty TensorList")
    return cat(given, 0 if given[0].dim() == 1 else 1, out=out)


@public
def vstack(tensors: Any, *, out: Tensor | None = None) -> Tensor:
    """Join along the first dimension; vectors become rows."""
    given = tensor_list(tensors, "vstack")
    if not given:
        raise RuntimeError("vstack expects a non-empty TensorList")
    return cat(atleast_2d(given), 0, out=out)


@public
def row_stack(tensors: Any, *, out: Tensor | None = None) -> Tensor:
    """Join along the first dimension; vectors become rows."""
    return vstack(tensor_list(tensors, "row_stack"), out=out)


@public
def dstack(tensors: Any, *, out: Tensor | None = None) -> Tensor:
    """Join along the third dimension."""
    given = tensor_list(tensors, "dstack")
    if not given:
        raise RuntimeError("dstack expects a non-empty TensorList")
    return cat(atleast_3d(given), 2, out=out)


@public
def column_stack(tensors: Any, *, out: Tensor | None = None) -> Tensor:
    """Join along the second dimension; vectors become columns."""
    given = tensor_list(tensors, "column_stack")
    if not given:
        raise RuntimeError("column_stack expects a non-empty TensorList")
    return hstack(
        [t if t.dim() > 1 else reshape(t, (t.numel(), 1)) for t in given], out=out
    )


def _as_blocks(shapes: Sequence[Sizes]) -> list[Sizes]:
    """Return (rows, columns) of each block; vectors are rows, numbers one element."""
    return [(1, 1, *shape)[-2:] for shape in shapes]


def _block_diag_backward(F: Any, grad: Any, tensors_shape: Sequence[Sizes]) -> Any:
    found: list[Any] = []
    row = column = 0
    for shape, (height, width) in zip(
        tensors_shape, _as_blocks(tensors_shape), strict=True
    ):
        block = F.slice(grad, 0, row, row + height, 1)
        block = F.slice(block, 1, column, column + width, 1)
        for _ in range(2 - len(shape)):
            block = F.select(block, 0, 0)
        found.append(block)
        row, column = row + height, column + width
    return found


@hidden_op({"tensors": _block_diag_backward}, name="block_diag")
def _block_diag(xp: Any, tensors: Arrays) -> Any:
    blocks = _as_blocks([t.shape for t in tensors])
    shape = tuple(map(sum, zip(*blocks, strict=True)))
    whole = xp.zeros(shape, _common_dtype(tensors))
    row = column = 0
    for tensor, (height, width) in zip(tensors, blocks, strict=True):
        whole[row : row + height, column : column + width] = tensor
        row, column = row + height, column + width
    return whole


@public
def block_diag(*tensors: Tensor) -> Tensor:
    """Put matrices along the diagonal of a matrix of zeros."""
    given = tensor_list(tensors, "block_diag")
    for at, each in enumerate(given):
        if each.dim() > 2:
            raise RuntimeError(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. "
                f"Input {at} has {each.dim()} dimensions"
            )
    return _block_diag(given) if given else FUNCTIONS["empty"](1, 0)
