"""What few tensors have: a base they look into, hooks, a name; what .grad may be."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from . import _errors
from ._node import AccumulateGrad
from ._tensor_memory import TensorMemory

if TYPE_CHECKING:
    from ._tensor import Tensor


class ViewInfo:
    """What makes a tensor a view: its base, where it starts, and how it was made."""

    __slots__ = ("base", "kind", "offset", "version")

    base: Tensor | None  # None: shares memory, but no gradient flows (detach)
    offset: int  # elements from the start of the storage
    kind: str  # "", "multi_output" or "no_grad"
    version: int  # of the storage when grad_fn was last right


class TensorExtra:
    """What few tensors have: hooks, an accumulate node, a name."""

    __slots__ = ("accumulator", "hooks", "name", "post_accumulate", "retains")

    def __init__(self) -> None:
        self.accumulator: weakref.ref[AccumulateGrad] | None = None
        self.hooks: dict[int, Any] | None = None
        self.post_accumulate: dict[int, Any] | None = None
        self.retains = False
        self.name: str | None = None


def check_grad(tensor: TensorMemory, grad: Any) -> None:
    """Refuse a ``.grad`` that does not fit its tensor, in PyTorch's words."""
    if not isinstance(grad, TensorMemory):
        raise TypeError(
            f"assigned grad expected to be a Tensor or None but got grad of type "
            f"{type(grad).__name__}"
        )
    if grad is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    if grad.device.type != tensor.device.type:
        raise RuntimeError(
            _errors.GRAD_DEVICE.format(grad=grad.device.type, own=tensor.device.type)
        )
    if grad.shape != tensor.shape:
        raise RuntimeError(
            _errors.GRAD_SIZE.format(grad=list(grad.shape), own=list(tensor.shape))
        )
    if grad.dtype is not tensor.dtype:
        raise RuntimeError(
            _errors.GRAD_DTYPE.format(
                grad=_errors.scalar_type(grad.dtype).lower(),
                own=_errors.scalar_type(tensor.dtype),
            )
        )
