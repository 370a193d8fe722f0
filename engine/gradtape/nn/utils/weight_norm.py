"""Weight normalisation by a hook, as it was before parametrizations."""

from __future__ import annotations

import warnings
from typing import Any

from ..._common.site import user_stacklevel
from ..._dispatch.declare import FUNCTIONS
from ..._tensor.tensor import Tensor
from ..parameter import Parameter, UninitializedParameter

_DEPRECATED = (
    "`torch.nn.utils.weight_norm` is deprecated in favor of "
    "`torch.nn.utils.parametrizations.weight_norm`."
)
_UNINITIALIZED = (
    "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure "
    "to run the dummy forward before applying weight normalization"
)


class WeightNorm:
    """The hook that computes a weight from its lengths and direction."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Tensor:
        """Return the weight."""
        g, v = getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v")
        return FUNCTIONS["_weight_norm"](v, g, self.dim)

    @staticmethod
    def apply(module: Any, name: str, dim: int | None) -> WeightNorm:
        """Replace a parameter by its lengths and direction."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(
                    "Cannot register two weight_norm hooks on the same parameter "
                    f"{name}"
                )
        made = WeightNorm(name, dim)
        weight = getattr(module, name)
        if isinstance(weight, UninitializedParameter):
            raise ValueError(_UNINITIALIZED)
        del module._parameters[name]
        lengths = FUNCTIONS["norm_except_dim"](weight, 2, made.dim).data
        module.register_parameter(f"{name}_g", Parameter(lengths))
        module.register_parameter(f"{name}_v", Parameter(weight.data))
        setattr(module, name, made.compute_weight(module))
        module.register_forward_pre_hook(made)
        return made

    def remove(self, module: Any) -> None:
        """Make the weight a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[f"{self.name}_g"]
        del module._parameters[f"{self.name}_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Train a weight's lengths and direction; the old form, by a forward hook."""
    warnings.warn(_DEPRECATED, FutureWarning, stacklevel=user_stacklevel())
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Undo `weight_norm`; raise ValueError where it was not applied."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
