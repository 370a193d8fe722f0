"""Deep copies of tensors."""

from __future__ import annotations

import copy
from typing import Any

from ..._dispatch.declare import method
from ..._dispatch.strided_views import geometry_of
from ..._modes.grad_mode import mode, no_grad
from ..._overrides.torch_function import DisableTorchFunctionSubclass
from ..._storage.storage import Storage, borrowed, inference_storage, new_storage
from ..._tensor.memory import keeps_values_elsewhere
from ..._tensor.tensor import Tensor, plain_types, wrap
from ..sparse.layout import is_sparse
from ..tensor.subclasses import own_slots
from .resize_set import place
from .untyped_storage import face_of

_ANOTHER_KIND = (
    "of the same subclass. You should either properly implement {0}() for your "
    "subclass or override __deepcopy__() if it is intended behavior for {0}() to "
    "return an instance of a different type."
)
_OTHER_CLONE = (
    "The default implementation of __deepcopy__() for wrapper subclasses only works "
    "for subclass types that implement clone() and for which cloning returns another "
    "instance " + _ANOTHER_KIND.format("clone")
)
_OTHER_NEW = (
    "The default implementation of __deepcopy__() for non-wrapper subclasses only "
    "works for subclass types that implement new_empty() and for which that function "
    "returns another instance " + _ANOTHER_KIND.format("new_empty")
)


@method("__deepcopy__")
def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the "
            "deepcopy protocol at the moment.  If you were attempting to deepcopy a "
            "module, this may be because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )
    if id(self) in memo:
        return memo[id(self)]
    if is_sparse(self):
        return _carried_over(self, wrap(self._data.copy()), memo)
    if keeps_values_elsewhere(self) or self.device.type == "meta":
        return _carried_over(self, _cloned(self), memo)
    if type(self) not in plain_types:
        with DisableTorchFunctionSubclass():
            if type(self.new_empty(())) is not type(self):  # type: ignore[attr-defined]
                raise RuntimeError(_OTHER_NEW)
    shared = face_of(self._storage).__deepcopy__(memo)._storage
    if mode.now.inference:
        twin = _like(self, inference_storage(shared.owner))
    else:
        twin = _like(self, borrowed(shared, new_storage(shared.owner)))
        twin._storage.version = 1  # PyTorch places the copy with set_()
    return _carried_over(self, twin, memo)


def _cloned(self: Tensor) -> Tensor:
    """Return what the class of a tensor without memory makes of ``clone()``."""
    with no_grad(), DisableTorchFunctionSubclass():
        twin: Tensor = self.clone()  # type: ignore[attr-defined]
    if type(twin) is not type(self):
        raise RuntimeError(_OTHER_CLONE)
    return twin


def _carried_over(self: Tensor, twin: Tensor, memo: dict[int, Any]) -> Tensor:
    """Give a deep copy what its original has besides memory."""
    memo[id(self)] = twin
    twin._needs = self._needs
    if self._grad is not None:
        twin._grad = copy.deepcopy(self._grad, memo)
    twin.__dict__.update(copy.deepcopy(self.__dict__, memo))
    for name in own_slots(type(self)):
        if hasattr(self, name):
            setattr(twin, name, copy.deepcopy(getattr(self, name), memo))
    return twin


def _like(self: Tensor, memory: Storage) -> Tensor:
    """Return a tensor of this one's type that looks the same way into ``memory``."""
    twin = object.__new__(type(self))
    twin._storage = memory
    twin._grad = twin._grad_fn = twin._view = twin._extra = None
    twin._needs, twin._nr = False, 0
    twin._data = memory.flat_as(self._data.dtype)[:0]
    place(twin, geometry_of(self))
    return twin
