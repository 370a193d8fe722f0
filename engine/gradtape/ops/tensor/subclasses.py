"""Subclasses of Tensor: what ops return of them, and those that wrap others."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

from ..._backend import Shell
from ..._backend.device import default_device
from ..._backend.device import device as Device
from ..._common.messages import NEW_LEAF_DTYPE
from ..._common.type_name import type_name
from ..._dispatch.declare import method
from ..._dtypes import get_default_dtype
from ..._modes.grad_mode import mode
from ..._overrides.torch_dispatch import ask
from ..._overrides.torch_function import DisableTorchFunctionSubclass
from ..._tensor.subclasses import dispatching
from ..._tensor.tensor import Tensor, view_info, wrap
from .._aten import aten
from .._custom import packet_of
from .._support.view_geometry import contiguous_strides
from ..memory.memory_format import strided
from ..views.permute import _alias
from .native_functions import ONLY_ATEN
from .queries import pin_memory


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


ONLY_ATEN.update(
    _pin_memory=pin_memory,
    sym_numel=Tensor.numel,
    sym_size=Tensor.size,
    sym_storage_offset=Tensor.storage_offset,
    sym_stride=Tensor.stride,
)
_device, _layout = packet_of("prim", "device"), packet_of("prim", "layout")
_device.add("default", lambda x: x.device)
_layout.add("default", lambda x: x.layout)

_STRIDES: Final = {"strides": "sym_stride", "flags": "is_contiguous"}
_SIZES: Final = {"shape": "sym_size", "ndim": "dim", "size": "sym_numel"}
_POLICIES: Final = {None: {}, "strides": _STRIDES, "sizes": {**_STRIDES, **_SIZES}}


def _make_wrapper_subclass(
    cls: type,
    size: Any,
    *,
    strides: Any = None,
    storage_offset: int | None = None,
    memory_format: Any = None,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
) -> Any:
    """Return a tensor of a class that keeps the values elsewhere.

    It has a shape, strides, a dtype and a device, but no memory: what its ops give,
    ``__torch_dispatch__`` says. With the policy "strides" or "sizes" it says those too,
    asked for ``aten.sym_stride`` and ``aten.sym_size``; with ``dispatch_device`` its
    device, asked for ``prim.device``; with ``dispatch_layout`` its layout.

    >>> import gradtape as torch
    >>> class Doubled(torch.Tensor):
    ...     def __new__(cls, half):
    ...         whole = torch.Tensor._make_wrapper_subclass(cls, half.shape)
    ...         whole.half = half
    ...         return whole
    ...     @classmethod
    ...     def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
    ...         args = [a.half * 2 if isinstance(a, cls) else a for a in args]
    ...         return func(*args, **(kwargs or {}))
    >>> Doubled(torch.ones(2)) + 1
    tensor([3., 3.])
    """
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type_name(cls)})")
    if cls not in dispatching:
        raise TypeError(f"{cls.__name__} must define __torch_dispatch__")
    kind = (get_default_dtype() if dtype is None else dtype).numpy
    steps = contiguous_strides(tuple(size)) if strides is None else strides
    where = default_device() if device is None else Device(device)
    steps = tuple(step * kind.itemsize for step in steps)
    shell = Shell(tuple(size), steps, kind, where, layout)
    found = retyped(wrap(shell), cls)
    if storage_offset:
        found._view = view_info(None, storage_offset, "", 0)
    if requires_grad:
        if kind.kind not in "fcV":
            raise RuntimeError(NEW_LEAF_DTYPE)
        found.requires_grad = True
    packets = _packets(dispatch_sizes_strides_policy)
    if dispatch_device:
        packets["device"] = _device
    if dispatch_layout:
        packets["layout"] = _layout
    for fact, packet in packets.items():
        shell.asked[fact] = _asking(found, fact, packet)
    return found


def _packets(policy: str | None) -> dict[str, Any]:
    """Return the ops that stand for the facts a class says itself."""
    if policy not in _POLICIES:
        raise ValueError(
            f"Unknown sizes_strides_policy: {policy}; expected 'strides' or 'sizes'"
        )
    return {fact: getattr(aten, name) for fact, name in _POLICIES[policy].items()}


def _asking(tensor: Tensor, fact: str, packet: Any) -> Callable[[], Any]:
    """Return what asks the class of a tensor for a fact; None is no answer."""
    owner, shell = weakref.ref(tensor), tensor._data
    plain = getattr(shell, fact)

    def run(args: Any, kwargs: Any) -> Any:
        return packet(*args, **kwargs)

    def asked() -> Any:
        asking = owner()
        silent = not mode.now.dispatches
        if silent or asking is None or asking._data is not shell:  # swapped since
            return plain
        kinds, name = [type(asking)], f"torch.ops.{packet}"
        found = ask(packet.default, kinds, (asking,), {}, run, name=name)
        return plain if found is None else _as_kept(fact, found, asking)

    return asked


def _as_kept(fact: str, found: Any, tensor: Tensor) -> Any:
    """Return an answer as arrays have it: strides in bytes, flags as attributes."""
    if fact == "strides":
        return tuple(step * tensor.itemsize for step in found)
    if fact == "flags":
        return SimpleNamespace(c_contiguous=found)
    return tuple(found) if fact == "shape" else found


Tensor._make_wrapper_subclass = staticmethod(_make_wrapper_subclass)  # type: ignore[attr-defined]
