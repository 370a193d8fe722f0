"""Calling modules as functions of their parameters."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .._dispatch.declare import FUNCTIONS
from .._tensor.tensor import Tensor
from ..nn import Module
from ..nn.modules import BatchNorm1d, BatchNorm2d, BatchNorm3d
from ..nn.utils.stateless import _functional_call
from ._arguments import transforming

State = dict[str, Tensor]


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: State | Sequence[State],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors in place of its parameters and buffers.

    Names are as in ``named_parameters``; several dicts must have no name in common.
    Tensors that the module shares under two names stay shared, unless
    ``tie_weights=False``. With ``strict`` the names must be all the module has. What
    the call assigns to a buffer is found in the dict afterwards.

    >>> import gradtape as torch
    >>> layer = torch.nn.Linear(2, 1)
    >>> state = {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}
    >>> torch.func.functional_call(layer, state, torch.tensor([3.0, 4.0]))
    tensor([7.])
    """
    state = _merged(parameter_and_buffer_dicts)
    how = {"tie_weights": tie_weights, "strict": strict}
    return _functional_call(module, state, args, kwargs, **how)


def _merged(dicts: Any) -> State:
    if isinstance(dicts, dict):
        return dicts
    if not isinstance(dicts, Sequence):
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of "
            f"dicts, but got {type(dicts)}"
        )
    if not all(isinstance(each, dict) for each in dicts):
        raise ValueError(
            "Expected all elements of parameter_and_buffer_dicts to be dictionaries"
        )
    names = [name for each in dicts for name in each]
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if repeated:
        raise ValueError(
            f"{repeated} appeared in multiple dictionaries; behavior of functional "
            "call is ambiguous"
        )
    return {name: value for each in dicts for name, value in each.items()}


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Stack parameters and buffers of modules of one class, for :func:`vmap`.

    Returns two dicts by name; each tensor has one entry per module in front, and the
    parameters are new leaves. Raises RuntimeError where the modules do not match.

    >>> import gradtape as torch
    >>> models = [torch.nn.Linear(2, 3) for _ in range(4)]
    >>> params, buffers = torch.func.stack_module_state(models)
    >>> params["weight"].shape
    torch.Size([4, 3, 2])
    """
    if not len(models):
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({bool(model.training) for model in models}) > 1:
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval "
            "mode."
        )
    if len({type(model) for model in models}) > 1:
        raise RuntimeError(
            "stack_module_state: Expected all models to be of the same class."
        )
    params = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    return _stacked(params), _stacked(buffers)


def _stacked(states: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {name: _leaf(name, [s[name] for s in states]) for name in states[0]}


def _leaf(name: str, tensors: list[Any]) -> Any:
    needs = {t.requires_grad for t in tensors}
    if len(needs) > 1:
        raise RuntimeError(
            f"Expected {name} from each model to have the same .requires_grad"
        )
    whole = FUNCTIONS["stack"](tensors)
    return whole.detach().requires_grad_() if needs == {True} else whole


# ---- functions freed of what disturbs transforms: mutations, running statistics ----

_REMOVE = (
    "functionalize(f, remove='mutations'): received invalid argument for remove={}. "
    "Valid options are:\n     remove='mutations': all inplace and out= operators will "
    "be removed from the program, and replaced with their out-of-place equivalents.\n"
    "     remove='mutations_and_views': In addition to the above, all aliasing "
    "operators {{view}} will be replaced with their non-aliasing counterparts, "
    "{{view}}_copy.\n"
)


def functionalize(
    func: Callable[..., Any], *, remove: str = "mutations"
) -> Callable[..., Any]:
    """Return a function of the same results, and the same effect on its arguments.

    PyTorch rewrites the mutations in it for compilers; nothing is compiled here, so
    they run as they are. Raises RuntimeError for another ``remove``.

    >>> import gradtape as torch
    >>> torch.func.functionalize(lambda x: x.clone().add_(1))(torch.zeros(1))
    tensor([1.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(_REMOVE.format(remove))

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with transforming():
            return func(*args, **kwargs)

    return wrapped


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Let batch norms in a module use the statistics of each batch, and keep none.

    >>> from gradtape import func, nn
    >>> func.replace_all_batch_norm_modules_(nn.BatchNorm1d(2)).running_mean is None
    True
    """
    for module in root.modules():
        if isinstance(module, BatchNorm1d | BatchNorm2d | BatchNorm3d):
            module.running_mean = None
            module.running_var = None
            module.num_batches_tracked = None
            module.track_running_stats = False
    return root
