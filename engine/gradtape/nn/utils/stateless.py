"""Calling a module with other tensors in place of its own."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Generator
from typing import Any

from ..._common.site import user_stacklevel
from ..._tensor.tensor import Tensor

State = dict[str, Tensor]

_DEPRECATED = (
    "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and "
    "will be removed in a future version of PyTorch. Please use "
    "`torch.func.functional_call` instead which is a drop-in replacement."
)


def functional_call(
    module: Any,
    parameters_and_buffers: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors, as `torch.func.functional_call` does."""
    warnings.warn(_DEPRECATED, FutureWarning, stacklevel=user_stacklevel())
    return _functional_call(
        module,
        parameters_and_buffers,
        args,
        kwargs,
        tie_weights=tie_weights,
        strict=strict,
    )


def _functional_call(
    module: Any,
    parameters_and_buffers: State,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors; libraries know it by this name.

    What the call assigns to a buffer is found in the dict afterwards.
    """
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrized(module, parameters_and_buffers, tie_weights, strict):
        return module(*positional, **(kwargs or {}))


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
