"""Deterministic programs: what was asked for, memory filled, and who refuses.

Every op here gives the same result every time. What PyTorch refuses or fills when
a program asks for determinism is refused and filled all the same.
"""

from __future__ import annotations

import warnings
from typing import Any

from ..._common.site import user_stacklevel
from ..._dispatch.declare import public
from ..._dtypes import DTYPE_OF, iinfo
from ..._modes.grad_mode import mode

_DEBUG_MODES = ("default", "warn", "error")
_WHAT_TO_DO = (
    "You can {}file an issue at https://github.com/pytorch/pytorch/issues to help us "
    "prioritize adding deterministic support for this operation."
)
_WARNED = (
    "{} does not have a deterministic implementation, but you set "
    "'torch.use_deterministic_algorithms(True, warn_only=True)'. "
    + _WHAT_TO_DO.format("")
)
_REFUSED = (
    "{} does not have a deterministic implementation, but you set "
    "'torch.use_deterministic_algorithms(True)'. You can turn off determinism just for "
    "this operation, or you can use the 'warn_only=True' option, if that's acceptable "
    "for your application. " + _WHAT_TO_DO.format("also ")
)


class _Asked:
    """What was asked for."""

    on = False
    warn_only = False
    fills = True


@public
def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for results that are the same every time.

    New memory is filled then, and what has no deterministic implementation in PyTorch
    raises RuntimeError, or warns with ``warn_only``.
    """
    for name, place, value in (
        ("mode", " (position 1)", mode),
        ("warn_only", "", warn_only),
    ):
        if not isinstance(value, bool):
            raise TypeError(
                f"_set_deterministic_algorithms(): argument '{name}'{place} must be "
                f"bool, not {type(value).__name__}"
            )
    _Asked.on, _Asked.warn_only = mode, warn_only


@public
def are_deterministic_algorithms_enabled() -> bool:
    """Tell whether :func:`use_deterministic_algorithms` asked for it."""
    return _Asked.on


@public
def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Tell whether a warning would do where an op could not."""
    return _Asked.warn_only


@public
def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Ask by number or name: 0 "default", 1 "warn", 2 "error"."""
    if isinstance(debug_mode, str):
        if debug_mode not in _DEBUG_MODES:
            raise RuntimeError(
                "invalid value of debug_mode, expected one of `default`, `warn`, "
                f"`error`, but got {debug_mode}"
            )
        debug_mode = _DEBUG_MODES.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(
            f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}"
        )
    _Asked.on, _Asked.warn_only = debug_mode > 0, debug_mode == 1


@public
def get_deterministic_debug_mode() -> int:
    """Return what was asked for as a number."""
    return (1 if _Asked.warn_only else 2) if _Asked.on else 0


def fills_memory() -> bool:
    """Tell whether new memory is to be filled where determinism is asked for."""
    return _Asked.fills


def fill_memory(fills: bool) -> None:
    """Choose whether new memory is filled where determinism is asked for."""
    if not isinstance(fills, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise RuntimeError(f"expected a bool, but got {type(fills).__name__}")
    _Asked.fills = fills


def unwritten(array: Any) -> Any:
    """Return new memory: filled with NaN or the largest value, if that is asked for."""
    if _Asked.on and _Asked.fills:
        kind = DTYPE_OF[array.dtype]
        if kind.is_floating_point or kind.is_complex:
            mode.run(array.fill, float("nan"))
        else:
            largest = True if array.dtype.kind == "b" else iinfo(kind).max
            mode.run(array.fill, largest)
    return array


def check_determinism(function: str) -> None:
    """Refuse or warn where PyTorch has no deterministic way to compute a function."""
    if _Asked.on:
        if not _Asked.warn_only:
            raise RuntimeError(_REFUSED.format(function))
        said = _WARNED.format(function)
        warnings.warn(said, UserWarning, stacklevel=user_stacklevel())
