"""Whoever wants to know of steps: hooks, the profiler, observers."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING, Any

from .._common.handles import RemovableHandle, register
from .._common.site import caller_site
from .._graph.observe import OptimizerStepped, notify, observers
from .._modes.grad_mode import mode

if TYPE_CHECKING:
    from .optimizer import Optimizer

_global_optimizer_pre_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_global_optimizer_post_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before each step of any optimizer.

    A pair it returns takes the place of ``(args, kwargs)``.
    """
    return register(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after each step of any optimizer."""
    return register(_global_optimizer_post_hooks, hook)


def announced(step: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a step: hooks before and after, then an event for the observers."""

    @functools.wraps(step)
    def wrapper(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        profile = mode.now.profile
        if profile is None:
            return _between_hooks(step, self, args, kwargs)
        kind = type(self).__name__
        with profile.block(f"Optimizer.step#{kind}.step"):
            return _between_hooks(step, self, args, kwargs)

    wrapper.hooked = True  # type: ignore[attr-defined]
    return wrapper


def _between_hooks(
    step: Callable[..., Any],
    optimizer: Optimizer,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    before = optimizer.__dict__["_optimizer_step_pre_hooks"]
    after = optimizer.__dict__["_optimizer_step_post_hooks"]
    if before or _global_optimizer_pre_hooks:
        # Hooks see what the wrapped function gets: the optimizer comes first.
        call: Any = ((optimizer, *args), kwargs)
        hooks = (*_global_optimizer_pre_hooks.values(), *before.values())
        for hook in hooks:
            call = _checked(step, hook(optimizer, *call), call)
        (_, *rest), kwargs = call
        args = tuple(rest)
    result = step(optimizer, *args, **kwargs)
    if after or _global_optimizer_post_hooks:
        for hook in list(chain(after.values(), _global_optimizer_post_hooks.values())):
            hook(optimizer, (optimizer, *args), kwargs)
    if observers:
        notify(OptimizerStepped(optimizer, caller_site()))
    return result


def _checked(step: Callable[..., Any], changed: Any, call: Any) -> Any:
    if changed is None:
        return call
    if isinstance(changed, tuple) and len(changed) == 2:  # pyright: ignore[reportUnknownArgumentType]
        return changed  # pyright: ignore[reportUnknownVariableType]
    raise RuntimeError(
        f"{step} must return None or a tuple of (new_args, new_kwargs), but got "
        f"{changed}."
    )
