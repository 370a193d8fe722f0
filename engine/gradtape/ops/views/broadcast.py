"""Broadcasting: dimensions repeated without copying, and summed up again."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._common.messages import type_in_graph
from ..._dispatch.declare import Array, method, public
from ..._dispatch.operands import broadcast_error
from ..._dispatch.sum_to_shape import sum_to
from ..._tensor.size import Size
from ..._tensor.tensor import Tensor
from .._support import view_geometry as at
from .._support.arguments import check_tensor, is_integer, spread, tensor_list
from .._support.declare_view import view_op
from .reshape import view

Sizes = tuple[int, ...]


@view_op(
    at.expanded,
    {"self": lambda F, grad, self_shape: sum_to(F, grad, tuple(self_shape))},
    method=False,
    function=False,
)
def expand(xp: Any, self: Array, size: Sizes, implicit: bool = False) -> Any:
    """Repeat dimensions of size 1 without copying; -1 keeps a size."""
    if -1 in size:
        lead = len(size) - self.ndim
        size = tuple(self.shape[d - lead] if n == -1 else n for d, n in enumerate(size))
    if self.shape == size:
        return self
    if xp is np and not self.ndim and self.dtype.char in "fd":
        return _repeated(self, size)
    return xp.broadcast_to(self, size)


def _repeated(number: Any, size: Sizes) -> Any:
    """Do what broadcast_to does for one number in a tenth of the time.

    So every gradient of a total begins.
    """
    one = np.asarray(number)
    found = np.ndarray(size, one.dtype, one, strides=(0,) * len(size))
    found.flags.writeable = False
    return found


@method("expand")
def _expand(self: Tensor, *size: Any, implicit: bool = False, **named: Any) -> Tensor:
    """Repeat dimensions of size 1 without copying; -1 keeps a size.

    Raises RuntimeError where a size other than 1 would change.

    >>> import gradtape as torch
    >>> torch.zeros(3, 1).expand(-1, 4).stride()
    (1, 0)
    """
    return expanded(self, spread(size, "expand", "size", named))


def expanded(self: Tensor, size: Sizes) -> Tensor:
    """Expand, and name the tensor in the error where sizes are missing."""
    if len(size) < self.dim():
        raise RuntimeError(
            f"expand({type_in_graph(self.dtype)}{{{list(self._data.shape)}}}, "
            f"size={list(size)}): the number of sizes provided ({len(size)}) must be "
            "greater or equal to the number of dimensions in the tensor "
            f"({self.dim()})"
        )
    return expand(self, size)


@method()
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """Repeat dimensions of size 1 so that the shape is that of ``other``."""
    check_tensor(other, "expand_as", "other")
    return expanded(self, other._data.shape)


@method(function=True)
def broadcast_to(input: Tensor, *given: Any, **named: Any) -> Tensor:
    """Repeat dimensions of size 1 so that the shape is ``size``.

    >>> import gradtape as torch
    >>> torch.zeros(3, 1).broadcast_to(2, 3, 4).shape
    torch.Size([2, 3, 4])
    """
    check_tensor(input, "broadcast_to")
    return expanded(input, spread(given, "broadcast_to", "size", named))


@public
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Expand tensors to the shape they broadcast to; one that has it stays itself."""
    given = (
        tensors[0]
        if len(tensors) == 1 and not isinstance(tensors[0], Tensor)
        else tensors
    )
    shape: tuple[int, ...] = ()
    for tensor in tensor_list(given, "broadcast_tensors"):
        try:
            shape = tuple(broadcast_shapes(shape, tensor._data.shape))
        except RuntimeError:
            raise broadcast_error(shape, tensor._data.shape) from None
    return tuple(t if t._data.shape == shape else expand(t, shape) for t in given)


@public
def broadcast_shapes(*shapes: Any) -> Any:
    """Return the shape that tensors of these shapes broadcast to.

    Raises RuntimeError where they do not broadcast.
    """
    sized = [(s,) if is_integer(s) else tuple(s) for s in shapes]
    found = [1] * max((len(s) for s in sized), default=0)
    for position, shape in enumerate(sized):
        for d in range(-1, -1 - len(shape), -1):
            if shape[d] < 0:
                raise RuntimeError(
                    f"Trying to create tensor with negative dimension ({shape[d]}): "
                    f"({shape[d]})"
                )
            if shape[d] in (1, found[d]):
                continue
            if found[d] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {shape[d]} at {d}! "
                    f"Mismatching argument at index {position} had {shape}; but "
                    "expected shape should be broadcastable to "
                    f"{[found[i] for i in range(-1, -1 - len(found), -1)][::-1]}"
                )
            found[d] = shape[d]
    return Size(found)


@method()
def sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """Add up over dimensions so that the shape is ``size``: broadcasting undone.

    Raises RuntimeError where ``size`` does not broadcast to the tensor's shape.
    """
    wanted = spread(size, "sum_to_size")
    mine = self._data.shape
    lead = len(mine) - len(wanted)
    if lead < 0 or any(
        n not in (1, m) for n, m in zip(wanted, mine[lead:], strict=True)
    ):
        raise RuntimeError(
            f"size {{{list(wanted)}}} is not expandable to size {{{list(mine)}}}."
        )
    if not wanted:
        return self.sum()
    kept = [d + lead for d, n in enumerate(wanted) if n == 1 != mine[d + lead]]
    dims = [*range(lead), *kept]
    summed = self.sum(dims, True) if dims else self
    return view(summed, wanted) if lead else summed
