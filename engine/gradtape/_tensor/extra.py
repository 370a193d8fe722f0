"""What few tensors have: a base they look into, hooks, a name; what .grad may be."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._common import messages as _errors
from .._common.type_name import type_name
from .._dtypes import CPP_TYPE, dtype
from .._graph.node import AccumulateGrad
from .._modes.disable_dispatch import disabled, undispatched
from .memory import TensorMemory
from .subclass_slots import share_names

if TYPE_CHECKING:
    from .tensor import Tensor


plain_types: set[type] = set()
"""Tensor, Parameter and the like, whose ops give plain tensors; see _override."""

dispatching: set[type] = set()
"""The user's classes of tensors that have a ``__torch_dispatch__``."""

when_opinionated: list[Callable[[type], None]] = []
"""Told of every class of tensors that has a ``__torch_function__`` of its own."""


def opinionated(kind: type) -> None:
    """Tell of such a class."""
    for tell in when_opinionated:
        tell(kind)


def enroll(cls: type[Tensor], base: type[Tensor]) -> None:
    """Note what a new class of tensors has a say in."""
    ours = cls.__module__.partition(".")[0] == "gradtape"
    if not ours:
        share_names(cls, base)
    owner = next(c for c in cls.__mro__ if "__torch_function__" in c.__dict__)
    if cls.__torch_dispatch__ is not undispatched:
        dispatching.add(cls)
        opinionated(cls)
        if owner is base:
            cls.__torch_function__ = staticmethod(disabled)  # type: ignore[attr-defined]
    elif ours or (owner is not base and owner in plain_types):
        plain_types.add(cls)
    elif owner is not base:
        opinionated(cls)


class ViewInfo:
    """What makes a tensor a view: its base, where it starts, and how it was made."""

    __slots__ = ("base", "kind", "offset", "steps", "version")

    base: Tensor | None  # None: shares memory, but no gradient flows (detach)
    offset: int  # elements from the start of the storage
    kind: str  # "", "multi_output", "no_grad", "inference" or "custom_function"
    steps: tuple[Any, ...]  # from the base, where one changed the dtype; see _views
    version: int  # of the storage when grad_fn was last right


OWN_DTYPE = "own"
"""The dtype of ``.grad`` where nobody chose one: that of the tensor."""


class TensorExtra:
    """What few tensors have: hooks, an accumulate node, a name."""

    __slots__ = (
        "accumulator",
        "carried",
        "grad_dtype",
        "hooks",
        "identity",
        "name",
        "post_accumulate",
        "retains",
    )

    def __init__(self) -> None:
        self.accumulator: weakref.ref[AccumulateGrad] | None = None
        self.grad_dtype: Any = OWN_DTYPE
        self.hooks: dict[int, Any] | None = None
        self.post_accumulate: dict[int, Any] | None = None
        self.identity = 0  # given when first asked for; see Tensor._cdata
        self.retains = False
        self.name: str | None = None
        self.carried: Any = None  # what forward mode knows of the tensor; see _dual


def check_grad(tensor: Tensor, grad: Any) -> None:
    """Refuse a ``.grad`` that does not fit its tensor, in PyTorch's words."""
    if not isinstance(grad, TensorMemory):
        raise TypeError(
            f"assigned grad expected to be a Tensor or None but got grad of type "
            f"{type_name(grad)}"
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
    wanted = grad_dtype_of(tensor)
    if wanted is not None and grad.dtype is not wanted:
        raise RuntimeError(
            _errors.GRAD_DTYPE.format(
                grad=CPP_TYPE[grad.dtype],
                own=_errors.scalar_type(wanted),
            )
        )


def grad_dtype_of(tensor: Tensor) -> dtype | None:
    """Return the dtype that ``.grad`` has to have; None for any."""
    extra = tensor._extra
    if extra is None or extra.grad_dtype is OWN_DTYPE:
        return tensor.dtype
    return extra.grad_dtype


def set_grad_dtype(tensor: Tensor, wanted: Any) -> None:
    """Choose the dtype of a leaf's ``.grad``; None allows any.

    Raises RuntimeError for a tensor that is no leaf, or has another kind of gradient.
    """
    if wanted is not None and not isinstance(wanted, dtype):
        raise RuntimeError(
            f"grad_dtype must be a torch.dtype or None, but got {type(wanted).__name__}"
        )
    if not tensor.is_leaf:
        raise RuntimeError("grad_dtype can only be set on leaf tensors.")
    grad = tensor._grad
    if wanted is not None and grad is not None and grad.dtype is not wanted:
        raise RuntimeError(
            _errors.GRAD_DTYPE_TAKEN.format(
                grad=CPP_TYPE[grad.dtype],
                wanted=_errors.scalar_type(wanted),
            )
        )
    extra = tensor.more()
    extra.grad_dtype = wanted
    node = None if extra.accumulator is None else extra.accumulator()
    if node is not None:
        node.take(wanted or tensor.dtype)
