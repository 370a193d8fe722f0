"""Borders around tensors: constant, reflected, replicated."""

from __future__ import annotations

from typing import Any

from ..._dispatch.declare import Array, op
from ..._dtypes import DTYPE_OF
from .._kernels.bitwise_select import check_floating
from .._kernels.sliding_windows import Sizes
from .._support.memory_formats import keeps_format
from .._support.new_tensor import dense_copy
from .._support.scalar_range import in_range

_NEGATIVE = "narrow(): length must be non-negative."
_TOO_LONG = (
    "Length of pad should be no more than twice the number of dimensions of the input. "
    "Pad length is {pad}while the input has {ndim}dimensions."
)


def _pairs(pad: Sizes) -> list[tuple[int, int]]:
    """Return (before, after) per dimension, the last dimension first."""
    return [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)]


@op(
    {"self": lambda F, grad, pad: F.constant_pad_nd(grad, tuple(-p for p in pad), 0)},
    node="ConstantPadNdBackward0",
    method=False,
)
@keeps_format(0)
def constant_pad_nd(xp: Any, self: Array, pad: Sizes, value: float = 0) -> Any:
    """Surround the last dimensions with a value; negative widths cut."""
    if len(pad) % 2:
        raise RuntimeError(
            f"Length of pad must be even but instead it equals {len(pad)}"
        )
    if len(pad) > 2 * self.ndim:
        raise RuntimeError(_TOO_LONG.format(pad=len(pad), ndim=self.ndim))
    shape = list(self.shape)
    source, target = [slice(None)] * self.ndim, [slice(None)] * self.ndim
    for back, (begin, end) in enumerate(_pairs(pad)):
        dim = self.ndim - 1 - back
        size = shape[dim]
        shape[dim] = size + begin + end
        if size + min(begin, 0) + min(end, 0) < 0:
            raise RuntimeError(_NEGATIVE)
        source[dim] = slice(max(-begin, 0), size - max(-end, 0))
        target[dim] = slice(max(begin, 0), shape[dim] - max(end, 0))
    if max(pad, default=0) <= 0:
        return dense_copy(xp, self[tuple(source)])
    found = xp.full(tuple(shape), in_range(value, DTYPE_OF[self.dtype]), self.dtype)
    found[tuple(target)] = self[tuple(source)]
    return found


def _take(xp: Any, self: Any, padding: Sizes, reflect: bool) -> Any:
    found = self
    for back, (begin, end) in enumerate(_pairs(padding)):
        axis = self.ndim - 1 - back
        found = xp.take(
            found, _sources(xp, self.shape[axis], begin, end, reflect), axis=axis
        )
    return found


def _sources(xp: Any, size: int, begin: int, end: int, reflect: bool) -> Any:
    """Return, for each cell of a padded dimension, which cell it repeats."""
    index = xp.arange(-begin, size + end)
    if not reflect:
        return xp.clip(index, 0, size - 1)
    index = xp.abs(index)
    return xp.where(index >= size, 2 * (size - 1) - index, index)


def _add_back(xp: Any, grad: Any, shape: Sizes, padding: Sizes, reflect: bool) -> Any:
    found = grad
    for back, (begin, end) in enumerate(_pairs(padding)):
        axis = len(shape) - 1 - back
        index = _sources(xp, shape[axis], begin, end, reflect)
        size = (*found.shape[:axis], shape[axis], *found.shape[axis + 1 :])
        into = xp.zeros(size, grad.dtype)
        moved = xp.moveaxis(into, axis, 0)
        xp.add.at(moved, index, xp.moveaxis(found, axis, 0))
        found = into
    return found


def _declare(kind: str, dims: int) -> None:
    reflect, label = kind == "reflection", f"{kind}_pad{dims}d"
    node = f"{kind.capitalize()}Pad{dims}DBackward"

    @keeps_format(0)
    def kernel(xp: Any, self: Array, padding: Sizes) -> Any:
        check_floating(self, label, "b")
        return _take(xp, self, padding, reflect)

    @keeps_format(0)
    def backward(xp: Any, grad_output: Array, self: Array, padding: Sizes) -> Any:
        return _add_back(xp, grad_output, self.shape, padding, reflect)

    def derivative(F: Any, grad: Any, self: Any, padding: Any) -> Any:
        return getattr(F, backward.__name__)(grad, self, padding)

    def derivative_back(F: Any, grad: Any, padding: Any) -> Any:
        return getattr(F, label)(grad, padding)

    def nothing(F: Any, self: Any) -> Any:
        return F.zeros_like(self)

    kernel.__name__, backward.__name__ = label, f"{label}_backward"
    kernel.__doc__ = f"Surround the last {dims} dimensions by {kind}."
    backward.__doc__ = "Add the gradients of repeated cells to the cells they repeat."
    hidden = {"method": False, "function": False}
    op({"self": derivative}, node=f"{node}0", **hidden)(kernel)
    op(
        {"grad_output": derivative_back, "self": nothing},
        node=f"{node}Backward0",
        **hidden,
    )(backward)


for _dims in (1, 2, 3):
    _declare("reflection", _dims)
    _declare("replication", _dims)
