"""Copies of what the views show: view_copy and its kin, in memory of their own."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ..._backend import backend_of
from ..._common.messages import STRIDED_OUT_OF_BOUNDS
from ..._dispatch.declare import FUNCTIONS, OPS, method, public, tensor_ops
from ..._dispatch.strided_views import Geometry
from ..._graph.node import Node
from ..._graph.op import Array
from ..._graph.output_layout import layout_of
from ..._modes.grad_mode import mode, no_grad
from ..._tensor.tensor import Tensor, wrap
from .._support.arguments import check_tensor, sizes, wrap_dim
from .._support.new_tensor import row_major
from .._support.operands import OWN_DTYPE, hidden_op
from .._support.out_argument import SAME_DTYPE, into, with_out

_NARROW_DTYPE = (
    "Expected self.dtype() == output.dtype() to be true, but got false.  (Could this "
    "error message be improved?  If so, please report an enhancement request to "
    "PyTorch.)"
)
_NO_DIM = (
    "Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false."
    "  (Could this error message be improved?  If so, please report an enhancement "
    "request to PyTorch.)"
)


@cache
def _twin(kind: type[Node]) -> type[Node]:
    """Return the node class of a copy: the view's, under PyTorch's name for it."""
    return type(f"{kind.__name__}_copy", (kind,), {"__slots__": ()})


def _copied(source: Tensor, views: list[Tensor]) -> list[Tensor]:
    """Return copies of views; they take over the history, as nobody sees the views."""
    if mode.now.duals is not None or not views:  # tangents go where ops lead them
        layout = FUNCTIONS["clone"]
        return [layout(view) for view in views]
    copies = [wrap(_fresh(view._data)) for view in views]
    node: Any = views[0].grad_fn
    if node is not None and node is not source.grad_fn:
        node.__class__ = _twin(type(node))
        if len(views) > 1:
            node.several = tuple(layout_of(c._data) for c in copies)
        else:
            node.layout = layout_of(copies[0]._data)
        node.storage_ids = 0
        for view, copy in zip(views, copies, strict=True):
            copy._grad_fn, copy._nr, copy._needs = node, view._nr, True
    return copies


def _fresh(array: Any) -> Any:
    xp = backend_of(array).xp
    return row_major(xp, array.copy(order="C"))


def _declare(name: str, view: Callable[..., Any], several: bool) -> None:
    def copy(input: Tensor, *args: Any, out: Any = None, **options: Any) -> Any:
        check_tensor(input, f"{name}_copy")

        def compute() -> Any:
            found = view(input, *args, **options)
            copies = _copied(input, list(found) if several else [found])
            return tuple(copies) if several else copies[0]

        if not several or out is None:
            return into(f"{name}_copy", out, (input,), compute, SAME_DTYPE)
        with no_grad():
            into(f"{name}_copy", out, (input,), compute, SAME_DTYPE)
        return None

    copy.__name__ = copy.__qualname__ = f"{name}_copy"
    copy.__doc__ = f"Return what {name}() shows, in memory of its own."
    FUNCTIONS[f"{name}_copy"] = copy


def _slice(
    input: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    return tensor_ops.slice(input, dim, start, end, step)


def _split(input: Tensor, split_size: int, dim: int = 0) -> Any:
    return FUNCTIONS["split"](input, split_size, dim)


def _view(input: Tensor, *given: Any) -> Tensor:
    """Return a view, or where strides do not allow one a copy with a view's node."""
    with no_grad():
        wanted = input.contiguous().view(*given)
    if input.is_contiguous() or wanted.dtype is not input.dtype:
        return input.view(*given)
    found = tensor_ops._unsafe_view(input, tuple(wanted.shape))
    if found.grad_fn is not None:
        found.grad_fn.__class__ = OPS["view"].node_type
    return found


_ONE: dict[str, Any] = {
    "alias": lambda input: input[...],
    "as_strided": lambda input, size, stride, storage_offset=None: input.as_strided(
        size, stride, storage_offset
    ),
    "detach": lambda input: input.detach(),
    "expand": lambda input, size, *, implicit=False: input.expand(size),
    "permute": lambda input, dims: input.permute(dims),
    "select": lambda input, dim, index: input.select(dim, index),
    "slice": _slice,
    "squeeze": lambda input, *dim: input.squeeze(*dim),
    "t": lambda input: input.t(),
    "transpose": lambda input, dim0, dim1: input.transpose(dim0, dim1),
    "unfold": lambda input, dimension, size, step: input.unfold(dimension, size, step),
    "unsqueeze": lambda input, dim: input.unsqueeze(dim),
    "view": _view,
    "view_as_complex": lambda input: FUNCTIONS["view_as_complex"](input),
    "view_as_real": lambda input: FUNCTIONS["view_as_real"](input),
}
_SEVERAL: dict[str, Any] = {
    "split": _split,
    "split_with_sizes": lambda input, split_sizes, dim=0: input.split_with_sizes(
        split_sizes, dim
    ),
    "unbind": lambda input, dim=0: input.unbind(dim),
}
for _name, _view in _ONE.items():
    _declare(_name, _view, False)
for _name, _view in _SEVERAL.items():
    _declare(_name, _view, True)


def _range(length: int, start: int, count: int) -> tuple[int, int]:
    """Return where a range begins and ends, counted from the front."""
    begin = start + length if start < 0 else start
    return begin, begin + count


def _narrow_backward(
    F: Any, grad: Any, self_shape: Any, dim: int, start: int, length: int
) -> Any:
    whole = F._new_zeros(grad, self_shape)
    begin, end = _range(self_shape[dim], start, length)
    return F.slice_scatter(whole, grad, dim, begin, end, 1)


@hidden_op(
    {"self": _narrow_backward},
    name="narrow_copy",
    key="_narrow_copy",
    out=True,
    out_rule=_NARROW_DTYPE,
)
def _narrow_copy(xp: Any, self: Array, dim: int, start: int, length: int) -> Any:
    index = (slice(None),) * wrap_dim(dim, self.ndim)
    part = slice(*_range(self.shape[dim], start, length))
    return row_major(xp, self[(*index, part)].copy())


@method(function=True)
def narrow_copy(
    input: Tensor, dim: int, start: int, length: int, *, out: Tensor | None = None
) -> Tensor:
    """Return a copy of a range of a dimension."""
    if input.is_sparse:
        return _narrow_sparse(input, dim, start, length)
    if not input.dim():
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if dim >= input.dim():
        raise RuntimeError(_NO_DIM)
    size = input.shape[wrap_dim(dim, input.dim())]
    if not -size <= start <= size:
        raise IndexError(
            f"start out of range (expected to be in range of [{-size}, {size}], but "
            f"got {start})"
        )
    begin = start + size if start < 0 else start
    if length < 0 or begin > size - length:
        raise RuntimeError(
            f"start ({begin}) + length ({length}) exceeds dimension size ({size})."
        )
    return _narrow_copy(input, dim, start, length, out=out)


def _narrow_sparse(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Return a range of a sparse tensor; neither argument counts from the end."""
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not 0 <= dim < input.dim():
        raise RuntimeError(
            f"Dimension {dim} out of range. Expecting 0 <= dim < {input.dim()}."
        )
    size, end = input.shape[dim], start + length
    if not 0 <= start <= end <= size:
        raise RuntimeError(
            "Invalid range to narrow. range(start, start+length) must be a subset of "
            f"range(0, {size})."
        )
    return FUNCTIONS["index_select"](input, dim, FUNCTIONS["arange"](start, end))


@hidden_op(
    {
        "self": lambda F, grad, src_shape, size, stride, storage_offset: (
            F._as_strided_scatter(
                grad, F._new_zeros(grad, src_shape), size, stride, storage_offset
            )
        ),
        "src": lambda F, grad, size, stride, storage_offset: F._as_strided_copy(
            grad, size, stride, storage_offset
        ),
    },
    name="as_strided_scatter",
    key="_as_strided_scatter",
)
def _as_strided_scatter(
    xp: Any, self: Array, src: Array, size: Any, stride: Any, storage_offset: int
) -> Any:
    """Copy the tensor, row by row, with the elements at some strides replaced."""
    copy = row_major(xp, self.copy(order="C"))
    flat = copy.reshape(-1)
    backend_of(flat).strided(flat, *Geometry(size, stride, storage_offset))[...] = src
    return copy


@hidden_op(
    {
        "self": lambda F, grad, self_shape, size, stride, storage_offset: (
            F._as_strided_scatter(
                F._new_zeros(grad, self_shape), grad, size, stride, storage_offset
            )
        )
    }
)
def _as_strided_copy(
    xp: Any, self: Array, size: Any, stride: Any, storage_offset: int
) -> Any:
    """Read the elements at some strides of a tensor that lies row by row."""
    flat = xp.ascontiguousarray(self).reshape(-1)
    return (
        backend_of(flat).strided(flat, *Geometry(size, stride, storage_offset)).copy()
    )


@method(function=True)
def as_strided_scatter(
    input: Tensor,
    src: Tensor,
    size: Any,
    stride: Any,
    storage_offset: int | None = None,
) -> Tensor:
    """Return a copy with the elements that as_strided() would show replaced by ``src``.

    Raises RuntimeError for a ``src`` of another shape.
    """
    shape = sizes(size, "as_strided_scatter")
    if tuple(src.shape) != shape:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(src.shape)}, slice size = {list(shape)}"
        )
    at = input.storage_offset() if storage_offset is None else storage_offset
    steps = sizes(stride, "as_strided_scatter")
    item, there = input.element_size(), input.numel() * input.element_size()
    reach = sum((n - 1) * step for n, step in zip(shape, steps, strict=True))
    if 0 not in shape and (needed := (at + reach + 1) * item) > there:
        raise RuntimeError(
            STRIDED_OUT_OF_BOUNDS.format(
                size=list(shape),
                stride=list(steps),
                offset=at,
                item=item,
                needed=needed,
                nbytes=there,
            )
        )
    return _as_strided_scatter(input, src, shape, steps, at)


@public
@method()
@with_out(OWN_DTYPE)
def conj_physical(input: Tensor) -> Tensor:
    """Return the conjugate in memory of its own; a real tensor is returned itself."""
    if not input.dtype.is_complex:
        return input
    from ..fourier.transforms import _conj_physical

    return _conj_physical(input)


@public
@method()
def conj_physical_(input: Tensor) -> Tensor:
    """In-place version of conj_physical()."""
    from ..._dispatch.inplace import in_place

    return in_place(OPS["_conj_physical"])(input)
