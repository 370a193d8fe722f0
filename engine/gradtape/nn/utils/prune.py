"""Pruning: parameters of which a mask sets some elements to zero."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..._dispatch.declare import FUNCTIONS
from ..._tensor.tensor import Tensor
from ._prune_methods import CustomFromMask as CustomFromMask
from ._prune_methods import Identity as Identity
from ._prune_methods import L1Unstructured as L1Unstructured
from ._prune_methods import LnStructured as LnStructured
from ._prune_methods import RandomStructured as RandomStructured
from ._prune_methods import RandomUnstructured as RandomUnstructured
from ._prune_methods import _compute_norm as _compute_norm
from ._prune_methods import _compute_nparams_toprune as _compute_nparams_toprune
from ._prune_methods import _validate_pruning_amount as _validate_pruning_amount
from ._prune_methods import (
    _validate_pruning_amount_init as _validate_pruning_amount_init,
)
from ._prune_methods import _validate_pruning_dim as _validate_pruning_dim
from ._prune_methods import _validate_structured_pruning as _validate_structured_pruning
from ._pruning import BasePruningMethod as BasePruningMethod
from ._pruning import PruningContainer as PruningContainer
from .convert_parameters import parameters_to_vector


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
