"""Views of a part of a tensor: slices, single positions, diagonals, windows.

The derivative of such a view puts its gradient into zeros at the same place. That
placing is an op of its own, whose derivative is the view again.
"""

from __future__ import annotations

from typing import Any

from ..._dispatch.declare import Array, method
from ..._tensor.tensor import Tensor
from .._support import view_geometry as at
from .._support.arguments import as_integer, check_tensor, wrap_dim
from .._support.declare_view import view_op
from .._support.operands import hidden_op
from .._support.reduction import numpy_names

Sizes = tuple[int, ...]


def _along(self: Any, dim: int, index: Any) -> tuple[Any, ...]:
    return (*(slice(None),) * (dim % max(self.ndim, 1)), index)


# ---- one position, a range ----


@view_op(
    at.selected,
    {
        "self": lambda F, grad, self_shape, dim, index: F.select_backward(
            grad, self_shape, dim, index
        )
    },
    part=True,
)
def select(xp: Any, self: Array, dim: int, index: int) -> Any:
    """Take one position of a dimension, which disappears.

    Raises IndexError for a position that the dimension does not have.
    """
    return self[_along(self, dim, index)]


@hidden_op({"self": lambda F, grad, dim, index: F.select(grad, dim, index)})
def select_backward(
    xp: Any, self: Array, input_sizes: Sizes, dim: int, index: int
) -> Any:
    """Put the argument into zeros, at one position of a dimension."""
    whole = xp.zeros(input_sizes, self.dtype)
    whole[_along(whole, dim, index)] = self
    return whole


@view_op(
    at.sliced,
    {
        "self": lambda F, grad, self_shape, dim, start, end, step: F.slice_backward(
            grad, self_shape, dim, start, end, step
        )
    },
    name="slice",
    method=False,
    function=False,
    part=True,
)
def slice_view(
    xp: Any,
    self: Array,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Any:
    """Take every ``step``-th position of a range of a dimension."""
    return self[_along(self, dim, slice(start, end, step))]


@hidden_op(
    {
        "self": lambda F, grad, dim, start, end, step: F.slice(
            grad, dim, start, end, step
        )
    }
)
def slice_backward(
    xp: Any,
    self: Array,
    input_sizes: Sizes,
    dim: int,
    start: int | None,
    end: int | None,
    step: int,
) -> Any:
    """Put the argument into zeros, at a range of a dimension."""
    whole = xp.zeros(input_sizes, self.dtype)
    whole[_along(whole, dim, slice(start, end, step))] = self
    return whole


@method(function=True)
@numpy_names
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """Take ``length`` positions of a dimension, beginning at ``start``.

    Raises RuntimeError where they reach past the end.
    """
    shape = check_tensor(input, "narrow")._data.shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    size = shape[wrap_dim(dim, len(shape))]
    if isinstance(start, Tensor) and (
        start.dim() or start._data.dtype.kind not in "iu"
    ):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    first = as_integer(start, "narrow", "start", 2)
    if not -size <= first <= size:
        raise IndexError(
            f"start out of range (expected to be in range of [{-size}, {size}], but "
            f"got {first})"
        )
    first = first + size if first < 0 else first
    if first > size - length:
        raise RuntimeError(
            f"start ({first}) + length ({length}) exceeds dimension size ({size})."
        )
    return slice_view(input, dim, first, first + length, 1)


# ---- diagonals, windows ----


@view_op(
    at.diagonalized,
    {
        "self": lambda F, grad, self_shape, offset, dim1, dim2: F.diagonal_backward(
            grad, self_shape, offset, dim1, dim2
        )
    },
)
def diagonal(
    xp: Any, self: Array, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Any:
    """Take the diagonal of two dimensions; it becomes the last dimension.

    >>> import gradtape as torch
    >>> torch.arange(6).view(2, 3).diagonal()
    tensor([0, 4])
    """
    return xp.diagonal(self, offset, dim1, dim2)


@hidden_op(
    {"self": lambda F, grad, offset, dim1, dim2: F.diagonal(grad, offset, dim1, dim2)}
)
def diagonal_backward(
    xp: Any, self: Array, input_sizes: Sizes, offset: int, dim1: int, dim2: int
) -> Any:
    """Put the argument on a diagonal of zeros."""
    whole = xp.zeros(input_sizes, self.dtype)
    front = xp.moveaxis(whole, (dim1, dim2), (0, 1))
    steps = xp.arange(self.shape[-1])
    rows, columns = steps + max(-offset, 0), steps + max(offset, 0)
    front[rows, columns] = xp.moveaxis(self, -1, 0)
    return whole


@view_op(
    at.unfolded,
    {
        "self": lambda F, grad, self_shape, dimension, size, step: F.unfold_backward(
            grad, self_shape, dimension, size, step
        )
    },
    function=False,
)
def unfold(xp: Any, self: Array, dimension: int, size: int, step: int) -> Any:
    """Show every window of ``size`` positions, ``step`` apart, in a new last dimension.

    >>> import gradtape as torch
    >>> torch.arange(5).unfold(0, 2, 2)
    tensor([[0, 1],
            [2, 3]])
    """
    if not self.ndim:
        return self.reshape(1)[:size]
    d = dimension % self.ndim
    windows = xp.lib.stride_tricks.sliding_window_view(self, size, d)
    return windows[_along(self, d, slice(None, None, step))]


@hidden_op(
    {
        "self": lambda F, grad, dim, size, step: F.unfold(grad, dim, size, step),
    }
)
def unfold_backward(
    xp: Any, self: Array, input_sizes: Sizes, dim: int, size: int, step: int
) -> Any:
    """Add up what came in through windows, where the windows looked."""
    whole = xp.zeros(input_sizes, self.dtype)
    if not whole.ndim:
        whole[...] = self.sum()
        return whole
    d = dim % whole.ndim
    count = self.shape[d]
    for i in range(size):  # windows overlap, but their i-th positions do not
        part = slice(i, i + (count - 1) * step + 1, step)
        whole[_along(whole, d, part)] += self[..., i]
    return whole
