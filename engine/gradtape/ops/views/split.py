"""Views of a tensor cut into pieces: split, chunk, unbind and their kin.

The pieces come from one call, so PyTorch lets none of them be written in place.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..._common.compiled import compiled
from ..._common.type_name import type_name
from ..._dispatch.declare import OPS, Array, make_node_type, method, node_name
from ..._dispatch.strided_views import Geometry, geometry_of
from ..._dtypes import int64
from ..._modes.grad_mode import mode, no_grad
from ..._storage.storage import Storage, inference_storage, sharing
from ..._tensor.tensor import Tensor, view_info, wrap, wrap_shared
from .._support import view_geometry as at
from .._support.arguments import as_integer, check_tensor, is_integer, sizes, wrap_dim
from .._support.declare_view import look, look_at_parts, recorded
from .._support.operands import hidden_op
from .._support.reduction import numpy_names
from .slices import slice_view

Sizes = tuple[int, ...]


def _as_list(grad: Any) -> Sequence[Any]:
    """Return the gradients of the pieces; of a single piece it comes bare."""
    return grad if isinstance(grad, list) else [grad]


def _pieces(F: Any, grad: Any, shape: Sizes, dim: int, lengths: Any) -> Any:
    grad = _as_list(grad)
    like = next(g for g in grad if g is not None)
    d = dim % len(shape)
    whole = [
        F._new_zeros(like, (*shape[:d], n, *shape[d + 1 :])) if g is None else g
        for g, n in zip(grad, lengths, strict=True)
    ]
    return F.cat(whole, dim)


def _even(length: int, split_size: int) -> list[int]:
    if split_size == 0:
        return [length]
    count = max(-(-length // split_size), 1)
    return [*[split_size] * (count - 1), length - split_size * (count - 1)]


def _cut(source: Tensor, dim: int, lengths: Sequence[int]) -> tuple[Tensor, ...]:
    d = wrap_dim(dim, source._data.ndim)
    ends = list(itertools.accumulate(lengths))
    starts = [0, *ends[:-1]]
    parts = [(start, slice(start, end)) for start, end in zip(starts, ends)]  # noqa: B905 - of one length
    found = look_at_parts(source, d, parts, "multi_output")
    if found is not None:
        return found
    where = geometry_of(source)
    views: list[Tensor] = []
    start = 0
    for length in lengths:
        size = (*where.size[:d], length, *where.size[d + 1 :])
        offset = where.offset + start * where.stride[d]
        views.append(look(source, Geometry(size, where.stride, offset), "multi_output"))
        start += length
    return tuple(views)


@hidden_op(
    {
        "self": lambda F, grad, self_shape, split_size, dim: _pieces(
            F, grad, self_shape, dim, _even(self_shape[dim], split_size)
        )
    },
    name="split",
    outputs=None,
    view="multi_output",
)
def _split_even(xp: Any, self: Array, split_size: int, dim: int = 0) -> Any:
    """Cut a dimension into pieces of one size."""
    ends = range(split_size, self.shape[dim], split_size) if split_size else ()
    return tuple(xp.split(self, list(ends), dim))


@hidden_op(
    {
        "self": lambda F, grad, self_shape, split_sizes, dim: _pieces(
            F, grad, self_shape, dim, split_sizes
        )
    },
    outputs=None,
    view="multi_output",
)
def split_with_sizes(xp: Any, self: Array, split_sizes: Sizes, dim: int = 0) -> Any:
    """Cut a dimension into pieces of the given sizes."""
    ends = [sum(split_sizes[: i + 1]) for i in range(len(split_sizes) - 1)]
    return tuple(xp.split(self, ends, dim))


@hidden_op(
    {
        "self": lambda F, grad, self_shape, dim: F.stack(
            _fill(F, grad, self_shape, dim), dim
        )
    },
    outputs=None,
    view="multi_output",
)
def unbind(xp: Any, self: Array, dim: int = 0) -> Any:
    """Take every position of a dimension."""
    return tuple(xp.moveaxis(self, dim, 0))


def _fill(F: Any, grad: Any, shape: Sizes, dim: int) -> list[Any]:
    grad = _as_list(grad)
    like = next(g for g in grad if g is not None)
    d = dim % len(shape)
    size = (*shape[:d], *shape[d + 1 :])
    return [F._new_zeros(like, size) if g is None else g for g in grad]


@method("split", function=True)
def split(
    tensor: Tensor, split_size_or_sections: Any = None, dim: int = 0, **named: Any
) -> tuple[Tensor, ...]:
    """Cut a dimension into pieces, of one size or of the given sizes.

    >>> import gradtape as torch
    >>> [len(piece) for piece in torch.arange(5).split(2)]
    [2, 2, 1]
    """
    given = named.pop("split_size", split_size_or_sections)
    if given is None:
        raise TypeError(
            "split() missing 1 required positional argument: 'split_size_or_sections'"
        )
    check_tensor(tensor, "split")
    if not is_integer(given):
        parts = sizes(given, "split_with_sizes", "split_sizes", 2)
        return _split_sizes(tensor, parts, dim)
    if not tensor.dim():
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    size = as_integer(given, "split", "split_size", 1)
    if size < 0:
        raise RuntimeError(
            f"split expects split_size be non-negative, but got split_size={size}"
        )
    length = tensor.size(dim)
    if size == 0 and length:
        raise RuntimeError(
            "split_size can only be 0 if dimension size is 0, but got dimension size "
            f"of {length}"
        )
    views = _cut(tensor, dim, _even(length, size))
    return recorded(OPS["split"], tensor, views, (size, dim))


@method("split_with_sizes", function=True)
def _split_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Cut a dimension into pieces of the given sizes."""
    wanted = tuple(split_sizes)
    if not input.dim():
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    length = input.size(dim)
    if any(n < 0 for n in wanted):
        raise RuntimeError(
            "split_with_sizes expects split_sizes have only non-negative entries, but "
            f"got split_sizes={list(wanted)}"
        )
    if sum(wanted) != length:
        raise RuntimeError(
            "split_with_sizes expects split_sizes to sum exactly to "
            f"{length} (input tensor's size at dimension {dim}), but got "
            f"split_sizes={list(wanted)}"
        )
    views = _cut(input, dim, wanted)
    return recorded(OPS["split_with_sizes"], input, views, (wanted, dim))


@method("unbind", function=True)
def _unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Return every position of a dimension as a tensor of its own."""
    where = geometry_of(check_tensor(input, "unbind"))
    d = wrap_dim(dim, len(where.size))
    if not where.size:
        raise IndexError(f"Dimension specified as {d} but tensor has no dimensions")
    count = range(where.size[d])
    if input.is_sparse:
        rows = tuple(wrap(input._data[(*[slice(None)] * d, i)]) for i in count)
        return recorded(OPS["unbind"], input, rows, (dim,))
    views = look_at_parts(input, d, [(i, i) for i in count], "multi_output")
    if views is None:
        views = tuple(
            look(input, at.selected(where, d, i), "multi_output") for i in count
        )
    return recorded(OPS["unbind"], input, views, (dim,))


@method(function=True)
@numpy_names
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Cut a dimension into at most ``chunks`` pieces of one size."""
    check_tensor(input, "chunk")
    if not input.dim():
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(
            f"chunk expects `chunks` to be greater than 0, got: {chunks}"
        )
    length = input.size(dim)
    size = -(-length // chunks)
    if size == 0 and length == 0:
        lengths = (0,) * (chunks - 1)
        return _split_sizes(input, (*lengths, length), dim)
    views = _cut(input, dim, _even(length, size))
    return recorded(OPS["split"], input, views, (size, dim))


@method(function=True)
def tensor_split(
    input: Tensor,
    indices_or_sections: Any = None,
    dim: int = 0,
    **named: Any,
) -> tuple[Tensor, ...]:
    """Cut a dimension into so many pieces, or before the given positions."""
    given = indices_or_sections
    for word in ("sections", "indices", "tensor_indices_or_sections"):
        given = named.pop(word, given)
    if not check_tensor(input, "tensor_split").dim():
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor "
            f"with {input.dim()} dims"
        )
    length = input.size(dim)
    if isinstance(given, Tensor):
        given = _as_places(given)
    elif not is_integer(given) and not (
        isinstance(given, Sequence) and all(map(is_integer, given))
    ):
        raise TypeError(_SPLIT_FORMS.format(type_name(given)))
    if is_integer(given):
        given = as_integer(given, "tensor_split", "sections", 2)
        if given <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {given}")
        small, larger = divmod(length, given)
        sizes = [small + 1] * larger + [small] * (given - larger)
        given = [sum(sizes[: i + 1]) for i in range(len(sizes) - 1)]
    ends = [*given, length]
    starts = [0, *given]
    return tuple(
        slice_view(input, dim, start, end, 1)
        for start, end in zip(starts, ends, strict=True)
    )


_SPLIT_FORMS = """\
tensor_split() received an invalid combination of arguments - got ({}), but expected \
one of:
 * (tuple of ints indices, int dim = 0)
 * (Tensor tensor_indices_or_sections, int dim = 0)
 * (int sections, int dim = 0)
"""


def _as_places(given: Tensor) -> Any:
    if given.dim() > 1:
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to be a zero-dimensional "
            f"or one-dimensional tensor, but got a tensor with {given.dim()} dims"
        )
    if given.dtype is not int64:
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to have dtype of long, "
            f"but got {given.dtype.cpp_name}"
        )
    return given.tolist()


def _fixed_forms(name: str, where: Any) -> str:
    kind = type_name(where)
    misfit = (
        "      didn't match because some of the arguments have invalid types: "
        f"(Tensor, !{kind}!)\n"
    )
    return (
        f"{name}() received an invalid combination of arguments - got (Tensor, "
        f"{kind}), but expected one of:\n * (Tensor input, int sections)\n{misfit}"
        f" * (Tensor input, tuple of ints indices)\n{misfit}"
    )


def _split_along(name: str, least: int, dims: tuple[int, int]) -> None:
    """Declare hsplit, vsplit or dsplit: tensor_split along a fixed dimension."""

    def cut(input: Tensor, *given: Any, **named: Any) -> tuple[Tensor, ...]:
        check_tensor(input, name)
        ndim = input.dim()
        if ndim < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but "
                f"got a tensor with {ndim} dimensions!"
            )
        where = given[0] if given else next(iter(named.values()))
        known = isinstance(where, list | tuple | Tensor)
        if not is_integer(where) and not known:
            raise TypeError(_fixed_forms(name, where))
        dim = dims[0] if ndim == 1 else dims[1]
        if isinstance(where, int) and (where == 0 or input.size(dim) % where):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {dim}, but the size "
                f"of the dimension {input.size(dim)} is not divisible by the "
                f"split_size {where}!"
            )
        return tensor_split(input, where, dim)

    cut.__name__ = name
    cut.__doc__ = f"Cut a tensor along dimension {dims[1]}."
    method(name, function=True)(cut)


_split_along("hsplit", 1, (0, 1))
_split_along("vsplit", 2, (0, 0))
_split_along("dsplit", 3, (2, 2))


# ---- pieces that claim to be no views: written to at one's own risk ----


def _declare_unsafe(name: str) -> None:
    twin = f"unsafe_{name}"
    record = replace(
        OPS[name], name=twin, key=twin, node_name=node_name(twin), view=None
    )
    make_node_type(record)
    OPS[twin] = record


_declare_unsafe("split")
_declare_unsafe("split_with_sizes")


def _apart(name: str, source: Tensor, views: Any, options: Any) -> tuple[Tensor, ...]:
    """Let pieces count writes of their own, as if they shared no memory."""
    pieces = [wrap_shared(v._data, _own_count(v._storage)) for v in views]
    for piece, view in zip(pieces, views, strict=True):
        piece._view = view_info(None, view.storage_offset(), "", 0)
    return recorded(OPS[name], source, tuple(pieces), options)


def _own_count(storage: Storage) -> Storage:
    if storage.inference:
        return inference_storage(storage.owner)
    return sharing(storage)


@method(function=True)
def unsafe_split(tensor: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Cut as split() does into pieces that may be written, though gradients go wrong.

    The pieces share memory with the tensor, but it does not learn of writes to them.
    """
    if mode.now.inference:
        return split(tensor, split_size, dim)
    with no_grad():
        views = split(tensor, split_size, dim)
    return _apart("unsafe_split", tensor, views, (split_size, dim))


@method(function=True)
def unsafe_split_with_sizes(
    input: Tensor, split_sizes: Any, dim: int = 0
) -> tuple[Tensor, ...]:
    """Cut as split_with_sizes() does; see unsafe_split() for the danger."""
    sizes = tuple(split_sizes)
    if mode.now.inference:
        return _split_sizes(input, sizes, dim)
    with no_grad():
        views = _split_sizes(input, sizes, dim)
    return _apart("unsafe_split_with_sizes", input, views, (sizes, dim))


@method(function=True)
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Cut as chunk() does; see unsafe_split() for the danger."""
    with no_grad():
        lengths = tuple(piece.size(dim) for piece in chunk(input, chunks, dim))
    if sum(lengths) == 0:
        return unsafe_split_with_sizes(input, lengths, dim)
    return unsafe_split(input, lengths[0], dim)


_even = compiled(_even)
_cut = compiled(_cut)
