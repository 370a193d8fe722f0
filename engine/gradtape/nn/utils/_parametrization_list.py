"""The chain of parametrizations of one tensor, and the originals it starts from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import __future__ as switches
from ..._modes.grad_mode import no_grad
from ..._tensor.tensor import Tensor
from ...ops.memory.swap import swap_tensors
from ...utils._python_dispatch import is_traceable_wrapper_subclass
from ..modules.container import ModuleList
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
