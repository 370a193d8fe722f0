"""gradtape.compiler and compile(): nothing is compiled, programs run as they are."""

from __future__ import annotations

import functools
import warnings
from typing import Any, Final

from ._common.site import user_stacklevel
from ._dispatch.declare import public

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
    "set_stance",
]

NOT_COMPILED: Final = (
    "torch.compile compiles nothing in gradtape: what it was given runs unchanged."
)


class _Said:
    """Whether the warning was given; once is enough."""

    yet = False


@public
def compile(model: Any = None, *, disable: bool = False, **options: Any) -> Any:
    """Return a model or function unchanged, with a warning the first time.

    Used as a decorator as well, with or without ``options``, which are not looked at.
    """
    if model is None:
        return functools.partial(compile, disable=disable, **options)
    if not disable and not _Said.yet:
        _Said.yet = True
        warnings.warn(NOT_COMPILED, UserWarning, stacklevel=user_stacklevel())
    return model


def is_compiling() -> bool:
    """Tell whether the code is being compiled: never.

    >>> import gradtape as torch
    >>> torch.compiler.is_compiling()
    False
    """
    return False


def is_dynamo_compiling() -> bool:
    """Tell whether the code is being captured: never."""
    return False


def is_exporting() -> bool:
    """Tell whether the code is being exported: never."""
    return False


def disable(
    fn: Any = None, recursive: bool = True, *, reason: str | None = None
) -> Any:
    """Mark a function that is not compiled: nothing happens."""
    return _same if fn is None else fn


def allow_in_graph(fn: Any) -> Any:
    """Mark a function that is captured whole: nothing happens."""
    return fn


def assume_constant_result(fn: Any) -> Any:
    """Mark a function that always returns the same: nothing happens."""
    return fn


def reset() -> None:
    """Forget what was compiled: nothing was."""


def cudagraph_mark_step_begin() -> None:
    """Note that a step begins: nothing happens."""


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """Return the compilers: there are none."""
    return []


class set_stance:
    """Say how eagerly to compile: nothing happens. A block and a decorator as well."""

    def __init__(self, stance: str = "default", **options: Any) -> None:
        self.stance = stance

    def __call__(self, fn: Any) -> Any:
        return fn

    def __enter__(self) -> None: ...

    def __exit__(self, *exc: object) -> None: ...


def _same(fn: Any) -> Any:
    return fn
