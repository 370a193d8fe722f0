"""How functions of users ask whose call it is, see ``overrides``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .._modes.grad_mode import mode
from .._overrides.modes import hand_over, takers
from ._overridable import arm


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Tell whether a mode, or the class of one of the arguments, has a say.

    Raises TypeError for what is no sequence.
    """
    if not isinstance(relevant_args, list | tuple):
        raise TypeError("expected a sequence")
    return has_torch_function_variadic(*relevant_args)


def has_torch_function_unary(arg: Any) -> bool:
    """Tell the same of a single argument."""
    return has_torch_function_variadic(arg)


def has_torch_function_variadic(*args: Any) -> bool:
    """Tell the same of arguments that are written out."""
    arm()
    now = mode.now
    return bool(now.functions) or bool(takers(args))


def handle_torch_function(
    public_api: Callable[..., Any],
    relevant_args: Iterable[Any],
    *args: Any,
    **kwargs: Any,
) -> Any:
    """Let modes, and the classes of the relevant arguments, answer a call.

    Raises TypeError where each of them answers NotImplemented.
    """
    arm()
    return hand_over(public_api, takers(relevant_args), args, kwargs)
