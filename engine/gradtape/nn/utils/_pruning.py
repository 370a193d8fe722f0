"""The hooks that apply pruning masks, one for each pruned parameter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

from ..._dispatch.declare import FUNCTIONS
from ..._tensor.tensor import Tensor


class BasePruningMethod(ABC):
    """A way of pruning; a subclass computes masks.

    ``PRUNING_TYPE`` is "unstructured", "structured" or "global", and says which part
    of a tensor that is pruned already the next mask is computed from.
    """

    _tensor_name: str | None = None
    PRUNING_TYPE: ClassVar[str]

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._name, self.apply_mask(module))

    @property
    def _name(self) -> str:
        assert self._tensor_name is not None
        return self._tensor_name

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask, given the importance of elements and the mask so far."""

    def apply_mask(self, module: Any) -> Tensor:
        """Return the original parameter times the mask."""
        assert self._tensor_name is not None, f"Module {module} has to be pruned"
        mask = getattr(module, f"{self._name}_mask")
        original = getattr(module, f"{self._name}_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(
        cls,
        module: Any,
        name: str,
        *args: Any,
        importance_scores: Tensor | None = None,
        **kwargs: Any,
    ) -> Any:
        """Prune a parameter, on top of what was pruned before."""
        method = _combined(cls(*args, **kwargs), module, name)
        value: Any = getattr(module, name)
        scores = _scores(value, importance_scores, f"parameter {name} of {module}")
        first = not isinstance(method, PruningContainer)
        if first:
            module.register_parameter(f"{name}_orig", value)
            del module._parameters[name]
            default: Any = FUNCTIONS["ones_like"](value)
        else:
            default = module._buffers[f"{name}_mask"].detach().clone()
        try:
            mask = method.compute_mask(scores, default_mask=default)
            module.register_buffer(f"{name}_mask", mask)
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if first:  # give the module back as it was
                module.register_parameter(name, getattr(module, f"{name}_orig"))
                del module._parameters[f"{name}_orig"]
            raise
        return method

    def prune(
        self,
        t: Tensor,
        default_mask: Tensor | None = None,
        importance_scores: Tensor | None = None,
    ) -> Tensor:
        """Return a tensor with its pruned elements set to zero."""
        scores = _scores(t, importance_scores, "tensor t")
        default: Any = default_mask
        if default is None:
            default = FUNCTIONS["ones_like"](t)
        return t * self.compute_mask(scores, default_mask=default)

    def remove(self, module: Any) -> None:
        """Make the parameter, with its zeros, an ordinary one again."""
        name = self._tensor_name
        assert name is not None, (
            f"Module {module} has to be pruned before pruning can be removed"
        )
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(f"{name}_orig")
        original.data = weight.data
        del module._buffers[f"{name}_mask"]
        setattr(module, name, original)


def _scores(value: Tensor, scores: Tensor | None, what: str) -> Tensor:
    if scores is None:
        return value
    assert scores.shape == value.shape, (
        f"importance_scores should have the same shape as {what}"
    )
    return scores


def _combined(method: BasePruningMethod, module: Any, name: str) -> Any:
    """Put a method behind the one that prunes this parameter already, if any."""
    method._tensor_name = name
    hooks = module._forward_pre_hooks
    own = [
        key
        for key, hook in hooks.items()
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
    ]
    assert len(own) <= 1, (
        f"Avoid adding multiple pruning hooks to the same tensor {name} of module "
        f"{module}. Use a PruningContainer."
    )
    if not own:
        return method
    before = hooks.pop(own[0])
    if not isinstance(before, PruningContainer):
        before = PruningContainer(before)
    before.add_pruning_method(method)
    return before


class PruningContainer(BasePruningMethod):
    """Several ways of pruning one parameter, one after the other."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a method; raise where it is none or prunes another parameter."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found "
                f"'{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Let the newest method prune what the mask has left."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        part = _left(method, t, default_mask)
        partial = method.compute_mask(t[part], default_mask=default_mask[part])
        mask[part] = partial.to(dtype=mask.dtype)
        return mask


def _left(method: Any, t: Tensor, mask: Tensor) -> Any:
    """Return the index of what a method may still prune."""
    kind = method.PRUNING_TYPE
    if kind == "unstructured":
        return mask == 1
    whole: list[Any] = [slice(None)] * t.dim()
    if kind == "structured":
        if not hasattr(method, "dim"):
            raise AttributeError(
                "Pruning methods of PRUNING_TYPE 'structured' need to have the "
                "attribute `dim` defined."
            )
        if method.dim < -t.dim():
            raise IndexError(
                f"Index is out of bounds for tensor with dimensions {t.dim()}"
            )
        dim = method.dim % t.dim() if method.dim < 0 else method.dim
        others = [d for d in range(t.dim()) if d != dim]
        whole[dim] = mask.sum(dim=others) != 0
    elif kind != "global":
        raise ValueError(f"Unrecognized PRUNING_TYPE {kind}")
    return tuple(whole)
