"""Parametrizations: tensors of a module that are computed from others."""

from __future__ import annotations

import copy
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from ... import __future__ as switches
from ..._modes.grad_mode import no_grad
from ..._tensor.tensor import Tensor
from ...ops.memory.swap import swap_tensors
from ...ops.tensor.subclasses import is_traceable_wrapper_subclass
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

_SEQUENCE = (
    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...)"
)


def keep(module: Module, name: str, tensor: Any) -> None:
    """Register a tensor as the parameter or the buffer that it is."""
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def put(original: Any, value: Any) -> None:
    """Give an original another value; what refers to it sees that.

    Where parameters are swapped, or the class keeps its values in other tensors, it
    takes over the class as well.
    """
    swaps = switches.get_swap_module_params_on_conversion()
    if not swaps and not is_traceable_wrapper_subclass(original):
        original.set_(value)
        return
    if isinstance(original, Parameter) and not isinstance(value, Parameter):
        value = Parameter(value, original.requires_grad)
    swap_tensors(original, value)


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, first to last, and what they start from.

    It starts from ``original``, or from ``original0``, ``original1``… where the first
    parametrization's ``right_inverse`` gives several tensors. Raises ValueError where
    shapes or dtypes do not fit, unless ``unsafe``.
    """

    def __init__(
        self, modules: Sequence[Module], original: Any, unsafe: bool = False
    ) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with no_grad():
            new = original
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    try:
                        new = module.right_inverse(new)
                    except NotImplementedError:  # it starts from the value itself
                        continue
        if not isinstance(new, Tensor | Sequence):
            raise ValueError(f"{_SEQUENCE}. Got {type(new).__name__}")
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if isinstance(new, Tensor) else len(new)
        if isinstance(new, Tensor):
            self._keep_one(original, new)
        else:
            self._keep_several(original, new)
        if not unsafe:
            _check_result(self(), shape, dtype)

    def _keep_one(self, original: Any, new: Tensor) -> None:
        if original.dtype != new.dtype:
            raise ValueError(
                "When `right_inverse` outputs one tensor, it may not change the dtype."
                f"\noriginal.dtype: {original.dtype}\n"
                f"right_inverse(original).dtype: {new.dtype}"
            )
        with no_grad():
            if new is not original:
                put(original, new)
        keep(self, "original", original)

    def _keep_several(self, original: Any, new: Sequence[Any]) -> None:
        for i, part in enumerate(new):
            if not isinstance(part, Tensor):
                raise ValueError(
                    f"{_SEQUENCE}. Got element {i} of the sequence with type "
                    f"{type(part).__name__}."
                )
            if isinstance(original, Parameter):
                part = Parameter(part, original.requires_grad)
            part.requires_grad_(original.requires_grad)
            keep(self, f"original{i}", part)

    def right_inverse(self, value: Any) -> None:
        """Set the originals so that the parametrized tensor becomes ``value``.

        Raises RuntimeError where a parametrization has no ``right_inverse``.
        """
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement "
                        "right_inverse."
                    )
                value = module.right_inverse(value)
            if self.is_tensor:
                self._set_one(value)
            else:
                self._set_several(value)

    def _set_one(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise ValueError(
                f"`right_inverse` should return a tensor. Got {type(value).__name__}"
            )
        if value.dtype != self.original.dtype:
            raise ValueError(
                f"The tensor returned by `right_inverse` has dtype {value.dtype} while "
                f"`original` has dtype {self.original.dtype}"
            )
        put(self.original, value)

    def _set_several(self, value: Any) -> None:
        if not isinstance(value, Sequence):
            raise ValueError(
                "'right_inverse' must return a sequence of tensors. Got "
                f"{type(value).__name__}."
            )
        if len(value) != self.ntensors:
            raise ValueError(
                "'right_inverse' must return a sequence of tensors of length "
                f"{self.ntensors}. Got a sequence of length {len(value)}."
            )
        for i, part in enumerate(value):
            original = getattr(self, f"original{i}")
            if not isinstance(part, Tensor):
                raise ValueError(
                    "`right_inverse` must return a sequence of tensors. Got element "
                    f"{i} of type {type(part).__name__}"
                )
            if original.dtype != part.dtype:
                raise ValueError(
                    f"Tensor {i} returned by `right_inverse` has dtype {part.dtype} "
                    f"while `original{i}` has dtype {original.dtype}"
                )
            put(original, part)

    def forward(self) -> Tensor:
        """Return the parametrized tensor."""
        if self.is_tensor:
            x = self[0](self.original)
        else:
            x = self[0](*(getattr(self, f"original{i}") for i in range(self.ntensors)))
        for module in list(self)[1:]:
            x = module(x)
        return x


def _check_result(found: Any, shape: Any, dtype: Any) -> None:
    if not isinstance(found, Tensor):
        raise ValueError(
            f"A parametrization must return a tensor. Got {type(found).__name__}."
        )
    for fact, before, after in (
        ("dtype", dtype, found.dtype),
        ("shape", shape, found.shape),
    ):
        if before != after:
            raise ValueError(
                f"Registering a parametrization may not change the {fact} of the "
                f"tensor, unless `unsafe` flag is enabled.\nunparametrized {fact}: "
                f"{before}\nparametrized {fact}: {after}"
            )


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
