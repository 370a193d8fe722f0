"""Lazy modules: layers that learn the size of their input from the first one."""

from __future__ import annotations

import itertools
from typing import Any

from ..._modes.grad_mode import no_grad
from ..parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """What a lazy layer has besides its plain class, which it becomes.

    A subclass defines ``initialize_parameters(*inputs)``, which materializes its
    parameters; it runs before the first forward.
    """

    cls_to_become: type | None = None
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _non_persistent_buffers_set: set[str]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own: Any = self
        self._load_hook = own._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = own.register_forward_pre_hook(
            self._infer_parameters, with_kwargs=True
        )

    def _save_to_state_dict(
        self, destination: Any, prefix: str, keep_vars: bool
    ) -> None:
        kept = {
            name: buffer
            for name, buffer in self._buffers.items()
            if name not in self._non_persistent_buffers_set
        }
        for name, value in itertools.chain(self._parameters.items(), kept.items()):
            if value is not None:
                bare = is_lazy(value) or keep_vars
                destination[prefix + name] = value if bare else value.detach()

    def _lazy_load_hook(
        self, state_dict: dict[str, Any], prefix: str, *rest: Any
    ) -> None:
        """Give parameters the shapes of those about to be loaded."""
        del rest
        for name, own in itertools.chain(
            self._parameters.items(), self._buffers.items()
        ):
            given = state_dict.get(prefix + name)
            if given is not None and is_lazy(own) and not is_lazy(given):
                with no_grad():
                    own.materialize(given.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Materialize the parameters for these inputs; to be overridden."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def has_uninitialized_params(self) -> bool:
        """Tell whether a parameter or buffer still waits for its shape."""
        held = itertools.chain(self._parameters.values(), self._buffers.values())
        return any(is_lazy(each) for each in held)

    def _infer_parameters(self, module: Any, args: Any, kwargs: Any = None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(
                f"module {module._get_name()} has not been fully initialized"
            )
        for name in ("_initialize_hook", "_load_hook"):
            getattr(module, name).remove()
            delattr(module, name)
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self) -> Any:
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. "
            "Run a dummy forward pass to correctly initialize the modules"
        )


def materialize(tensor: Any, shape: tuple[int, ...]) -> None:
    if tensor is not None:
        tensor.materialize(shape)
