"""Who answers for a function of the library: modes first, then the operands' classes.

This is ``__torch_function__`` for whole functions. A mode stands before every call of
its thread; a class stands before the calls that one of its objects takes part in, be it
a kind of tensor or not.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any, Final

from .._common.site import user_stacklevel
from .._modes.grad_mode import mode
from .._tensor.tensor import plain_types
from .torch_function import NO_ANSWER, SILENT_TYPES, NoAnswerError, has_say

PLAIN_METHOD: Final = (
    "Defining your `__torch_function__` as a plain method is deprecated and will be "
    "an error in future, please define it as a classmethod."
)
NO_ANSWER_IN_PYTHON: Final = (
    "no implementation found for '{}' on types that implement __torch_function__: {}{}"
)
CLASS_METHOD: Final = (
    "Defining your mode's `__torch_function__` as a classmethod is not supported, "
    "please make it a plain method"
)

_PACKAGE: Final = __name__.partition(".")[0]


class _Shut(tuple[Any, ...]):
    """No modes, because none may be asked."""


SHUT: Final = _Shut()


def takers(values: Iterable[Any], found: list[Any] | None = None) -> list[Any]:
    """Return the objects whose classes have a say, one of each, subclasses first."""
    found = [] if found is None else found
    if not mode.now.overrides:
        return found
    for value in values:
        kind = type(value)
        if kind in plain_types or kind in SILENT_TYPES:
            continue
        if kind is tuple or kind is list:
            takers(value, found)
        elif has_say(kind) and all(type(known) is not kind for known in found):
            wider = [
                i for i, known in enumerate(found) if issubclass(kind, type(known))
            ]
            found.insert(wider[0] if wider else len(found), value)
    return found


def is_tensor_like(inp: Any) -> bool:
    """Tell whether it is a tensor, or has ``__torch_function__``.

    >>> import gradtape as torch
    >>> alike = torch.overrides.is_tensor_like
    >>> alike(torch.ones(1)), alike([])
    (True, False)
    """
    return type(inp) in plain_types or hasattr(inp, "__torch_function__")


def hand_over(
    function: Any,
    found: list[Any],
    args: tuple[Any, ...],
    kwargs: Any,
    in_python: bool = True,
) -> Any:
    """Let the innermost mode and then the objects found, in turn, answer a call.

    ``in_python`` says that PyTorch has the function in Python and not in C++, where
    warnings and errors are others.

    Raises TypeError where each of them answers NotImplemented.
    """
    types = tuple(type(value) for value in found)
    modes = mode.now.functions
    asked: list[str] = []
    if modes:
        with without_innermost() as inner:
            ask = inner.__torch_function__
            if getattr(ask, "__self__", None) is type(inner):
                raise RuntimeError(CLASS_METHOD)
            answer = ask(function, types, args, kwargs)
        if answer is not NotImplemented:
            return answer
        asked.append(f"  - mode object {inner}\n")
    for value in found:
        answer = _method_of(value, in_python)(function, types, args, kwargs)
        if answer is not NotImplemented:
            return answer
        asked.append(f"  - tensor subclass {type(value)}\n")
    name = f"{_module_of(function)}.{function.__name__}"
    if not in_python:
        raise NoAnswerError(NO_ANSWER.format(name=name, handlers="".join(asked)))
    mode_too = f" nor in mode {modes[-1]}" if modes else ""
    raise NoAnswerError(NO_ANSWER_IN_PYTHON.format(name, list(types), mode_too))


def _module_of(function: Any) -> str:
    module = getattr(function, "__module__", None) or "torch"
    if not module.startswith(_PACKAGE):
        return module
    return "torch.nn.functional" if f"{_PACKAGE}.nn." in module else "torch"


def _method_of(value: Any, in_python: bool) -> Callable[..., Any]:
    found = value.__torch_function__
    if getattr(found, "__self__", None) is value:
        kind = DeprecationWarning if in_python else UserWarning
        warnings.warn(PLAIN_METHOD, kind, stacklevel=user_stacklevel())
    return found


@contextmanager
def without_innermost() -> Generator[Any]:
    """Leave the innermost mode aside: what a mode calls goes to those around it."""
    now = mode.now
    before = now.functions
    now.functions = before[:-1]
    try:
        yield before[-1]
    finally:
        now.functions = before


class DisableTorchFunction:
    """Within it, no class of tensors and no mode has a say."""

    def __enter__(self) -> None:
        now = mode.now
        self._before = now.overrides, now.functions
        now.overrides, now.functions = False, SHUT

    def __exit__(self, *_: object) -> None:
        mode.now.overrides, mode.now.functions = self._before


class EnableTorchFunction:
    """Within it, or while it lives, classes of tensors have a say again."""

    def __init__(self) -> None:
        self._before: Any = mode.now.overrides
        mode.now.overrides = True

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            mode.now.overrides, self._before = self._before, None

    __del__ = __exit__


def is_enabled() -> bool:
    """Tell whether classes of tensors have a say."""
    return mode.now.overrides


def is_all_disabled() -> bool:
    """Tell whether neither they nor modes have one."""
    return mode.now.functions is SHUT


def function_modes() -> int:
    """Return how many modes are on."""
    return len(mode.now.functions)


def at_function_stack(at: int) -> Any:
    """Return the mode at a place, counted from the outermost."""
    return mode.now.functions[at]
