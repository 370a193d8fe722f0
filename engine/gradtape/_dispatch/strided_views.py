"""Linear maps between strided layouts, the ground that views of views stand on.

All three work on an imaginary buffer: ``inner`` says how the argument lies in it,
``outer`` how it is looked at. They are each other's derivatives, so views regenerated
after an in-place write differentiate to any order.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from .._backend import backend_of
from .._common.messages import STRIDED_OUT_OF_BOUNDS
from .._graph.observe import OpCalled, notify, observers
from .._graph.output_layout import element_strides
from .._modes.grad_mode import mode
from .._tensor.tensor import Tensor, wrap_view
from .declare import OPS, Array, method, op, public
from .recording import record


class Geometry(NamedTuple):
    """Sizes, strides and offset, in elements."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int

    @property
    def end(self) -> int:
        """One past the last element that is reached; 0 for an empty tensor."""
        if 0 in self.size:
            return 0
        steps = zip(self.size, self.stride, strict=True)
        return self.offset + 1 + sum((n - 1) * s for n, s in steps)


new_geometry: Callable[[tuple[Any, Any, int]], Geometry]
new_geometry = functools.partial(tuple.__new__, Geometry)
"""Make one of a tuple; views are so common that the class's own call would show."""


def geometry_of(tensor: Tensor) -> Geometry:
    """Return how a tensor lies in its storage."""
    data, info = tensor._data, tensor._view
    stride = element_strides(data) if data.size else tensor.stride()
    return new_geometry((data.shape, stride, 0 if info is None else info.offset))


def _look(array: Any, buffer: Any, at: Geometry) -> Any:
    return backend_of(array).strided(buffer, *at)


def _laid_out(xp: Any, array: Any, inner: Geometry, outer: Geometry) -> Any:
    buffer = xp.zeros((max(inner.end, outer.end),), array.dtype)
    _look(array, buffer, inner)[...] = array
    return buffer


@op(
    {"self": lambda F, grad, inner, outer: F._strided_scatter(grad, inner, outer)},
    method=False,
    function=False,
)
def _strided_gather(xp: Any, self: Array, inner: Geometry, outer: Geometry) -> Any:
    """Read with ``outer`` what lies as ``inner`` says."""
    buffer = _laid_out(xp, self, inner, outer)
    return _look(self, buffer, outer).copy()


def _read_again(F: Any, grad: Any, inner: Geometry, outer: Geometry) -> Any:
    """Undo a scatter: what several elements of ``inner`` read, their sum takes back."""
    if _meets_itself(inner):
        return F._strided_scatter(grad, outer, inner)
    return F._strided_gather(grad, inner, outer)


def _meets_itself(at: Geometry) -> bool:
    """Tell whether elements certainly share cells."""
    repeated = any(n > 1 and s == 0 for n, s in zip(at.size, at.stride, strict=True))
    return bool(at.end) and (repeated or at.end < math.prod(at.size))


@op(
    {"self": _read_again},
    method=False,
    function=False,
)
def _strided_scatter(xp: Any, self: Array, inner: Geometry, outer: Geometry) -> Any:
    """Add up at ``inner`` what came in through ``outer``, shared cells included."""
    size = max(inner.end, outer.end)
    buffer = xp.zeros((size,), self.dtype)
    places = _look(self, xp.arange(size), outer)
    xp.add.at(buffer, places, self)
    return _look(self, buffer, inner).copy()


@op(
    {
        "self": lambda F, grad, inner, outer: F._strided_replace(
            grad, F.zeros_like(F._strided_gather(grad, inner, outer)), inner, outer
        ),
        "value": lambda F, grad, inner, outer: F._strided_gather(grad, inner, outer),
    },
    method=False,
    function=False,
)
def _strided_replace(
    xp: Any, self: Array, value: Array, inner: Geometry, outer: Geometry
) -> Any:
    """Copy the argument, with ``value`` where ``outer`` looks."""
    buffer = _laid_out(xp, self, inner, outer)
    _look(self, buffer, outer)[...] = value
    return _look(self, buffer, inner).copy()


@op(
    {"self": lambda F, grad, inner: F._strided_share(grad, inner)},
    method=False,
    function=False,
)
def _strided_share(xp: Any, self: Array, inner: Geometry) -> Any:
    """Divide among elements that ``inner`` puts into one cell what each has whole."""
    places = _look(self, xp.arange(inner.end), inner)
    counts = xp.bincount(places.reshape(-1), minlength=1)[places]
    return (self / counts).astype(self.dtype)


def _as_strided_backward(F: Any, grad: Any, inner: Geometry, outer: Geometry) -> Any:
    found = F._strided_scatter(grad, inner, outer)
    if _meets_itself(inner):
        found = F._strided_share(found, inner)
    return found


@op(
    {"self": _as_strided_backward},
    name="as_strided",
    view="",
    method=False,
    function=False,
)
def _as_strided(xp: Any, self: Array, inner: Geometry, outer: Geometry) -> Any:
    """Look at an array that lies as ``inner`` says with ``outer``."""
    return _look(self, _laid_out(xp, self, inner, outer), outer)


OPS["as_strided"].node_type.readers = {  # type: ignore[attr-defined]
    "size": lambda node: node.params[1].size,
    "stride": lambda node: node.params[1].stride,
    "storage_offset": lambda node: node.params[1].offset,
}


@public
@method("as_strided")
def as_strided(
    input: Tensor,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    storage_offset: int | None = None,
) -> Tensor:
    """Look at the tensor's whole storage with any sizes, strides and offset.

    Raises RuntimeError where the view would reach past the end of the storage.

    >>> import gradtape as torch
    >>> torch.arange(4.0).as_strided((3, 2), (1, 1))
    tensor([[0., 1.],
            [1., 2.],
            [2., 3.]])
    """
    offset = input.storage_offset() if storage_offset is None else storage_offset
    outer = Geometry(tuple(size), tuple(stride), offset)
    check_geometry(outer)
    flat = input._storage.flat_as(input._data.dtype)
    if outer.end > flat.size:
        item = flat.itemsize
        raise RuntimeError(
            STRIDED_OUT_OF_BOUNDS.format(
                size=list(size),
                stride=list(stride),
                offset=offset,
                item=item,
                needed=outer.end * item,
                nbytes=flat.size * item,
            )
        )
    result = wrap_view(_look(flat, flat, outer), input)
    if input._view is not None and input._view.steps and result._view is not None:
        result._view.steps = (*input._view.steps, ("", outer))
    node = None
    if mode.grad:
        params = (geometry_of(input), outer)
        node = record(OPS["as_strided"], (input,), params, (result,))
    if mode.now.duals is not None:
        where = geometry_of(input), outer
        mode.now.duals.viewed(OPS["as_strided"], input, (result,), where)
    if observers:
        notify(OpCalled("as_strided", (input, size, stride, offset), (result,), node))
    return result


def check_geometry(at: Geometry) -> None:
    """Refuse sizes, strides and offsets that no tensor has, in PyTorch's words."""
    if len(at.size) != len(at.stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(s < 0 for s in at.stride):
        raise RuntimeError(
            "as_strided: Negative strides are not supported at the moment, got strides:"
            f" {list(at.stride)}"
        )
    if any(n < 0 for n in at.size):
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(at.size)} and "
            f"strides={list(at.stride)}"
        )
    if at.offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {at.offset}")
