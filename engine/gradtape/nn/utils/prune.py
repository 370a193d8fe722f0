"""Pruning: entries of parameters that a mask holds at zero."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from numbers import Integral, Real
from typing import Any, ClassVar

from ..._dispatch.declare import FUNCTIONS
from ..._tensor.tensor import Tensor
from .convert_parameters import parameters_to_vector


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


def _validate_pruning_amount_init(amount: Any) -> None:
    if not isinstance(amount, Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    number: Any = amount
    if number < 0 or (not isinstance(amount, Integral) and number > 1.0):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a "
            "non-negative integer"
        )


def _validate_pruning_amount(amount: Any, tensor_size: int) -> None:
    if isinstance(amount, Integral) and int(amount) > tensor_size:
        raise ValueError(
            f"amount={amount} should be smaller than the number of parameters to "
            f"prune={tensor_size}"
        )


def _validate_structured_pruning(t: Tensor) -> None:
    if len(t.shape) <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found "
            f"tensor of shape {t.shape} with {len(t.shape)} dims"
        )


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> int:
    if isinstance(amount, Integral):
        return int(amount)
    return round(amount * tensor_size)


def _validate_pruning_dim(t: Tensor, dim: int) -> None:
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def _compute_norm(t: Tensor, n: Any, dim: int) -> Tensor:
    others = [d for d in range(t.dim()) if d != dim % t.dim()]
    return FUNCTIONS["norm"](t, p=n, dim=others)


def _count(amount: Any, size: int) -> int:
    """Return how many of ``size`` to prune."""
    count = _compute_nparams_toprune(amount, size)
    _validate_pruning_amount(count, size)
    return count


class Identity(BasePruningMethod):
    """Prune nothing: the mask so far stays."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class CustomFromMask(BasePruningMethod):
    """Prune by a given mask."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        assert default_mask.shape == self.mask.shape, (
            f"default_mask shape {default_mask.shape} must match self.mask shape "
            f"{self.mask.shape}"
        )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


class _OfAmount(BasePruningMethod):
    """A method that prunes a share, or a number, of elements or channels."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _without_top(
        self, default_mask: Tensor, scores: Tensor, count: int, largest: bool
    ) -> Tensor:
        mask = default_mask.clone()
        top = FUNCTIONS["topk"](scores.reshape(-1), k=count, largest=largest)
        mask.view(-1)[top.indices] = 0
        return mask


class RandomUnstructured(_OfAmount):
    """Prune random elements."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = _count(self.amount, t.nelement())
        if not count:
            return default_mask.clone()
        return self._without_top(default_mask, FUNCTIONS["rand_like"](t), count, True)


class L1Unstructured(_OfAmount):
    """Prune the elements of least magnitude."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = _count(self.amount, t.nelement())
        if not count:
            return default_mask.clone()
        return self._without_top(default_mask, t.abs(), count, False)


class _Structured(_OfAmount):
    """A method that prunes whole channels along a dimension."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        size = t.shape[self.dim]
        count = _count(self.amount, size)
        if not count:
            return default_mask
        mask = FUNCTIONS["zeros_like"](t)
        index: list[Any] = [slice(None)] * t.dim()
        index[self.dim] = self._kept(t, size, count)
        mask[tuple(index)] = 1
        return mask * default_mask.to(dtype=mask.dtype)

    def _kept(self, t: Tensor, size: int, count: int) -> Tensor:
        """Return which channels stay, as a mask or as indices."""
        raise NotImplementedError


class RandomStructured(_Structured):
    """Prune random channels."""

    def _kept(self, t: Tensor, size: int, count: int) -> Tensor:
        drawn = FUNCTIONS["rand"](size)
        return drawn > FUNCTIONS["kthvalue"](drawn, k=count).values


class LnStructured(_Structured):
    """Prune the channels of least norm of order ``n``."""

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _kept(self, t: Tensor, size: int, count: int) -> Tensor:
        norm = _compute_norm(t, self.n, self.dim)
        return FUNCTIONS["topk"](norm, k=size - count, largest=True).indices


def identity(module: Any, name: str) -> Any:
    """Prepare a parameter for pruning without pruning anything."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: float) -> Any:
    """Prune random elements: a share of them, or a number."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Any, name: str, amount: float, importance_scores: Tensor | None = None
) -> Any:
    """Prune the elements of least magnitude, or of least importance.

    >>> import gradtape as torch
    >>> from gradtape.nn.utils import prune
    >>> layer = torch.nn.Linear(4, 1)
    >>> int((prune.l1_unstructured(layer, "weight", 0.5).weight == 0).sum())
    2
    >>> sorted(layer.state_dict())
    ['bias', 'weight_mask', 'weight_orig']
    """
    L1Unstructured.apply(
        module, name, amount=amount, importance_scores=importance_scores
    )
    return module


def random_structured(module: Any, name: str, amount: float, dim: int) -> Any:
    """Prune random channels along a dimension."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Any,
    name: str,
    amount: float,
    n: Any,
    dim: int,
    importance_scores: Tensor | None = None,
) -> Any:
    """Prune the channels along a dimension whose norm of order ``n`` is least."""
    LnStructured.apply(
        module, name, amount, n, dim, importance_scores=importance_scores
    )
    return module


def custom_from_mask(module: Any, name: str, mask: Tensor) -> Any:
    """Prune what a mask says."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Any,
    pruning_method: Any,
    importance_scores: dict[Any, Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune pairs ``(module, name)`` as if all were one vector.

    Raises TypeError for pairs that cannot be iterated, for scores that are no dict and
    for a method that is not unstructured.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    if importance_scores is not None and not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs: list[Any] = list(parameters)
    scores: dict[Any, Any] = importance_scores or {}
    values: list[Any] = [getattr(module, name) for module, name in pairs]
    relevant = parameters_to_vector(
        [scores.get(pair, value) for pair, value in zip(pairs, values, strict=True)]
    )
    ones: Any = FUNCTIONS["ones_like"]
    masks = parameters_to_vector(
        [
            getattr(module, f"{name}_mask", ones(value))
            for (module, name), value in zip(pairs, values, strict=True)
        ]
    )
    container = PruningContainer()
    container._tensor_name = "temp"  # the vector belongs to no module
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. '
            f"Found method {pruning_method} of type {method.PRUNING_TYPE}"
        )
    final, begin = container.compute_mask(relevant, masks), 0
    for (module, name), value in zip(pairs, values, strict=True):
        end = begin + value.numel()
        custom_from_mask(module, name, mask=final[begin:end].view_as(value))
        begin = end


def remove(module: Any, name: str) -> Any:
    """Make pruning permanent: the zeros stay, mask and hook go.

    Raises ValueError where the parameter is not pruned.
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(
        f"Parameter '{name}' of module {module} has to be pruned before pruning can be "
        "removed"
    )


def is_pruned(module: Any) -> bool:
    """Say whether a module, or any below it, has a pruned parameter."""
    return any(
        isinstance(hook, BasePruningMethod)
        for each in module.modules()
        for hook in each._forward_pre_hooks.values()
    )
