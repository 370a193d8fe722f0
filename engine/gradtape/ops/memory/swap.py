"""swap_tensors: exchange all that two tensors are, while references to them stay."""

from __future__ import annotations

import copyreg
import weakref
from typing import Any, Final, NoReturn

from ..._tensor.tensor import Tensor

_POISONED: Final = (
    "Trying to execute AccumulateGrad node that was poisoned by swap_tensors this can "
    "happen when you try to run backward on a tensor that was swapped. For a module m "
    "with `torch.__future__.set_swap_module_params_on_conversion(True)` you should not "
    "change the device or dtype of the module (e.g. `m.cpu()` or `m.half()`) between "
    "running forward and backward. To resolve this, please only change the device/"
    "dtype before running forward (or after both forward and backward)."
)


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange class, attributes, memory and gradients of two tensors.

    Graphs that lead to either can no longer run backward. Raises RuntimeError where
    weak references to them exist, or their classes have different slots.

    >>> import gradtape as torch
    >>> a, b = torch.zeros(2), torch.ones(3)
    >>> torch.utils.swap_tensors(a, b)
    >>> a
    tensor([1., 1., 1.])
    """
    for name, tensor in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefs(tensor):
            raise RuntimeError(
                f"Cannot swap {name} because it has weakref associated with it"
            )
    slots = _slots_of(t1)
    if slots != _slots_of(t2):
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    for tensor in (t1, t2):
        _poison(tensor)
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    for slot in slots:
        _exchange(t1, t2, slot)


def _slots_of(tensor: Tensor) -> set[str]:
    slots = set(copyreg._slotnames(type(tensor)))  # type: ignore[attr-defined]
    return slots - {"_noted"}  # which is about the object, whatever it holds


def _exchange(t1: Tensor, t2: Tensor, slot: str) -> None:
    first, second = (getattr(t, slot, _NONE) for t in (t1, t2))
    for tensor, value in ((t1, second), (t2, first)):
        if value is not _NONE:
            setattr(tensor, slot, value)
        elif hasattr(tensor, slot):
            delattr(tensor, slot)


_NONE: Any = object()


def _poison(tensor: Tensor) -> None:
    """Let graphs that accumulate into the tensor refuse to."""
    extra = tensor._extra
    node = None if extra is None or extra.accumulator is None else extra.accumulator()
    if extra is not None and node is not None:
        node.register_prehook(_refuse)
        extra.accumulator = None


def _refuse(_grads: Any) -> NoReturn:
    raise RuntimeError(_POISONED)
