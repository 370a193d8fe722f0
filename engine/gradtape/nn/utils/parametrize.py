"""Parametrizations: a tensor of a module computed from others whenever it is read."""

from __future__ import annotations

import copy
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from ..._modes.grad_mode import no_grad
from ..._tensor.tensor import Tensor
from ..modules.container import ModuleDict
from ..modules.module import Module
from ..parameter import Parameter
from ._parametrization_list import ParametrizationList as ParametrizationList
from ._parametrization_list import keep, put

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_NO_PICKLE = (
    "Serialization of parametrized modules is only supported through state_dict(). "
    "See:\nhttps://pytorch.org/tutorials/beginner/saving_loading_models.html#saving-"
    "loading-a-general-checkpoint-for-inference-and-or-resuming-training"
)
_LEAVE = (
    "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
    "parametrized in terms of a sequence of tensors."
)


class _Cache:
    """Values of parametrized tensors, while any `cached` block is open."""

    def __init__(self) -> None:
        self.depth = 0
        self.values: dict[tuple[int, str], Any] = {}


_cache = _Cache()


@contextmanager
def cached() -> Generator[None]:
    """Compute each parametrized tensor once inside the block.

    >>> import gradtape as torch
    >>> from gradtape.nn.utils import parametrize
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
    >>> with parametrize.cached():
    ...     layer.weight is layer.weight
    True
    """
    _cache.depth += 1
    try:
        yield
    finally:
        _cache.depth -= 1
        if not _cache.depth:
            _cache.values = {}


# ---- the class of a parametrized module ----


def _inject_new_class(module: Module) -> None:
    """Give the module a class of its own, which can have properties."""
    cls = type(module)

    def deep_copy(self: Any, memo: dict[int, Any]) -> Any:
        found = memo.get(id(self))
        if found is not None:
            return found
        replica = self.__new__(type(self))
        memo[id(self)] = replica
        replica.__dict__ = copy.deepcopy(self.__dict__, memo)
        return replica

    def refuse(self: Any) -> Any:
        raise RuntimeError(_NO_PICKLE)

    members: dict[str, Any] = {"__getstate__": refuse}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = deep_copy
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _inject_property(module: Module, tensor_name: str) -> None:
    def read(self: Any) -> Any:
        parametrization = self.parametrizations[tensor_name]
        if not _cache.depth:
            return parametrization()
        key = id(self), tensor_name
        if key not in _cache.values:
            _cache.values[key] = parametrization()
        return _cache.values[key]

    def write(self: Any, value: Any) -> None:
        self.parametrizations[tensor_name].right_inverse(value)

    setattr(type(module), tensor_name, property(read, write))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Compute a parameter or buffer by ``parametrization`` whenever it is read.

    The tensor itself becomes ``module.parametrizations.<name>.original``; several
    parametrizations follow one another. Assigning to the tensor goes through their
    ``right_inverse``. Raises ValueError where there is no such tensor, or where shape
    or dtype change and ``unsafe`` is not set.

    >>> import gradtape as torch
    >>> from gradtape.nn.utils import parametrize
    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = torch.nn.Linear(3, 3)
    >>> _ = parametrize.register_parametrization(layer, "weight", Symmetric())
    >>> torch.equal(layer.weight, layer.weight.T)
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_further(module, tensor_name, parametrization)
        several: Any = module.parametrizations
        several[tensor_name].append(parametrization)
        several[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        made = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_new_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        several = module.parametrizations
        several[tensor_name] = made
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized "
            f"element with name '{tensor_name}'"
        )
    return module


def _check_further(module: Module, name: str, parametrization: Any) -> None:
    """Refuse a parametrization that changes what the ones before it give."""
    before = getattr(module, name)
    after = parametrization(before)
    if not isinstance(after, Tensor):
        raise ValueError(
            f"A parametrization must return a tensor. Got {type(after).__name__}."
        )
    for fact in ("dtype", "shape"):
        old, new = getattr(before, fact), getattr(after, fact)
        if old != new:
            raise ValueError(
                f"Registering a parametrization may not change the {fact} of the "
                f"tensor, unless the `unsafe` flag is enabled.\nmodule.{name}.{fact}: "
                f"{old}\nparametrization(module.{name}).{fact}: {new}"
            )
    if not hasattr(parametrization, "right_inverse"):
        return
    back = parametrization.right_inverse(after)
    if not isinstance(back, Tensor):
        raise ValueError(
            "parametrization.right_inverse must return a tensor. Got: "
            f"{type(back).__name__}"
        )
    for fact in ("dtype", "shape"):
        old, new = getattr(before, fact), getattr(back, fact)
        if old != new:
            raise ValueError(
                "The tensor returned by parametrization.right_inverse must have the "
                f"same {fact} as module.{name}, unless the `unsafe` flag is enabled.\n"
                f"module.{name}.{fact}: {old}\nreturned {fact}: {new}"
            )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Say whether a module, or one tensor of it, is parametrized."""
    held = getattr(module, "parametrizations", None)
    if not isinstance(held, ModuleDict):
        return False
    return len(held) > 0 if tensor_name is None else tensor_name in held


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make a parametrized tensor a parameter or buffer again.

    It keeps its present value or, with ``leave_parametrized=False``, that of the
    original. Raises ValueError where the tensor is not parametrized.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(
            f"Module {module} does not have a parametrization on {tensor_name}"
        )
    held: Any = module.parametrizations
    chain = held[tensor_name]
    if chain.is_tensor:
        original = chain.original
        if leave_parametrized:
            with no_grad():
                put(original, getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(_LEAVE)
    delattr(type(module), tensor_name)
    del held[tensor_name]
    keep(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """Return the class that a module had before it was parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give a module the parametrizations, and the originals, of another.

    Tensors that the other module does not have are made. With ``tensor_name``, only
    that one is transferred. Raises AssertionError where nothing is parametrized.
    """
    if not is_parametrized(from_module):
        raise AssertionError(
            f"from_module must be parametrized, but got {type(from_module).__name__}"
        )
    held: Any = from_module.parametrizations
    if tensor_name is not None and tensor_name not in held:
        raise AssertionError(
            f"tensor_name '{tensor_name}' not found in from_module.parametrizations"
        )
    for name in [*held] if tensor_name is None else [tensor_name]:
        chain = held[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in chain:
            register_parametrization(
                to_module, name, copy.deepcopy(parametrization), unsafe=chain.unsafe
            )
        target: Any = to_module.parametrizations
        originals = ["original"] if chain.is_tensor else None
        for key in originals or [f"original{i}" for i in range(chain.ntensors)]:
            setattr(target[name], key, getattr(chain, key))
    return to_module
