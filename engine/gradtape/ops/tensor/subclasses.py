"""Tensors of the user's classes: making them, and what they carry besides elements."""

from __future__ import annotations

from typing import Any

from ..._common.type_name import type_name
from ..._dispatch.declare import method
from ..._overrides.torch_function import DisableTorchFunctionSubclass
from ..._tensor.tensor import Tensor
from ..views.permute import _alias


@method()
def as_subclass(self: Tensor, cls: type) -> Any:
    """Return the tensor as an instance of a subclass; memory and history are shared.

    >>> import gradtape as torch
    >>> class Picture(torch.Tensor):
    ...     pass
    >>> type(torch.zeros(2).as_subclass(Picture)).__name__
    'Picture'
    """
    with DisableTorchFunctionSubclass():
        return retyped(_alias(self), cls)


@method()
def module_load(self: Tensor, other: Any, assign: bool = False) -> Any:
    """Return what ``load_state_dict`` puts here where parameters are swapped.

    That is a copy in this tensor's memory, or ``other`` itself with ``assign``; in
    either case a tensor object of its own. Subclasses say it otherwise by
    ``__torch_function__``.

    >>> import gradtape as torch
    >>> torch.zeros(2).module_load(torch.ones(2))
    tensor([1., 1.])
    """
    return (other if assign else self.copy_(other)).detach()  # type: ignore[attr-defined]


def _make_subclass(cls: type, data: Tensor, require_grad: bool = False) -> Any:
    """Return a leaf of a subclass over the memory of a tensor."""
    return retyped(data.detach(), cls).requires_grad_(require_grad)  # type: ignore[attr-defined]


Tensor._make_subclass = staticmethod(_make_subclass)  # type: ignore[attr-defined]


def retyped(tensor: Tensor, cls: type) -> Any:
    """Return a leaf over the same memory that is an instance of a subclass."""
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type_name(cls)})")
    if not issubclass(cls, Tensor):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor "
            "is not possible. Make sure your class inherits from Tensor."
        )
    twin = object.__new__(cls)
    for name in Tensor.__slots__:
        if not name.startswith("__"):
            setattr(twin, name, getattr(tensor, name))
    return twin


def state_of(tensor: Tensor) -> Any:
    """Return what a tensor carries besides its elements: attributes and slots.

    A ``__getstate__`` of the user's class says it instead.
    """
    getstate = type(tensor).__getstate__
    if getstate is not object.__getstate__:
        return getstate(tensor)
    slots = {
        name: getattr(tensor, name)
        for name in own_slots(type(tensor))
        if hasattr(tensor, name)
    }
    return (tensor.__dict__, slots) if slots else tensor.__dict__


def own_slots(cls: type) -> list[str]:
    """Return the slots that the user's subclasses of Tensor declare."""
    found: list[str] = []
    for each in cls.__mro__[: cls.__mro__.index(Tensor)]:
        declared = each.__dict__.get("__slots__", ())
        names = [declared] if isinstance(declared, str) else list(declared)
        found += [name for name in names if name not in ("__dict__", "__weakref__")]
    return found


def set_state(tensor: Tensor, state: Any) -> Tensor:
    """Give a rebuilt tensor the attributes and slots that were saved with it."""
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    if not isinstance(attributes, dict) or not isinstance(slots, dict | None):
        raise RuntimeError(f"Invalid serialized state: {type(state).__name__}")
    tensor.__dict__.update(attributes)
    for name, value in (slots or {}).items():
        if name in own_slots(type(tensor)):
            setattr(tensor, name, value)
    return tensor


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Tell whether a class of the user's says which tensors it keeps its values in."""
    flattens = hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")
    return isinstance(t, Tensor) and flattens
