"""Calling modules as functions of their parameters."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence
from typing import Any

from .._dispatch.declare import FUNCTIONS
from .._tensor.tensor import Tensor

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
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrized(module, state, tie_weights, strict):
        return module(*positional, **(kwargs or {}))


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


@contextlib.contextmanager
def _reparametrized(
    module: Any, state: State, tie_weights: bool, strict: bool
) -> Generator[None]:
    """Let a module have other tensors for the block, and note what it made of them."""
    wanted = _tied(module, state) if tie_weights else dict(state)
    if strict:
        _check_names(module, wanted)
    before: list[tuple[str, Any]] = []
    try:
        for name, tensor in wanted.items():
            before.append((name, _swap(module, name, tensor)))
        yield
    finally:
        after = {name: _swap(module, name, old) for name, old in reversed(before)}
        state.update({name: after[name] for name in state if name in after})


def _named(module: Any) -> State:
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def _tied(module: Any, state: State) -> State:
    """Give each name of a shared tensor the value that one of them is given."""
    names: dict[int, list[str]] = {}
    for name, tensor in _named(module).items():
        names.setdefault(id(tensor), []).append(name)
    wanted = dict(state)
    for group in names.values():
        given = [name for name in group if name in state]
        if len(group) == 1 or not given:
            continue
        if len({id(state[name]) for name in given}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(group)}, which "
                "are tied. Consider using tie_weights=False"
            )
        wanted |= dict.fromkeys(group, state[given[0]])
    return wanted


def _check_names(module: Any, wanted: State) -> None:
    own = _named(module)
    unexpected = [repr(name) for name in sorted(wanted) if name not in own]
    missing = [repr(name) for name in sorted(own) if name not in wanted]
    said: list[str] = []
    if unexpected:
        said.append(f"Unexpected key(s): {', '.join(unexpected)}.")
    if missing:
        said.append(f"Missing key(s): {', '.join(missing)}.")
    if said:
        raise RuntimeError(
            f"Error(s) in reparametrizing for {module._get_name()}:\n\t"
            + "\n\t".join(said)
        )


_MISSING = object()


def _swap(module: Any, path: str, tensor: Any) -> Any:
    """Put a tensor where a module has one under ``path``; return what was there."""
    if tensor is not _MISSING and tensor is not None and not isinstance(tensor, Tensor):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    prefix, _, name = path.rpartition(".")
    owner = module.get_submodule(prefix)
    if not name:
        raise KeyError('tensor name can\'t be empty string ""')
    for store in (owner._parameters, owner._buffers):
        if name in store:
            old = store[name]
            if tensor is _MISSING:
                del store[name]
            else:
                store[name] = tensor
            return old
    old = getattr(owner, name, _MISSING)
    if old is not _MISSING and not isinstance(old, Tensor):
        raise TypeError(f"attribute `{name}`: {old} is not an instance of torch.Tensor")
    if tensor is _MISSING:
        delattr(owner, name)
    else:
        setattr(owner, name, tensor)
    return old


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
