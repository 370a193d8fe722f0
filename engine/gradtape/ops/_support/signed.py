"""Functions of one signature that are made row by row: each with its own name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from typing import Any, TypeVar

K = TypeVar("K", bound=Callable[..., Any])


def renamed(name: str, doc: str) -> Callable[[K], K]:
    """Give a function a name and a docstring, as if it had been written with them."""

    def give(function: K) -> K:
        function.__name__ = function.__qualname__ = name
        function.__doc__ = doc
        return function

    return give


def numbered(function: K, dims: int) -> K:
    """Name a function after its spatial dimensions, too: ``pool`` is ``pool2d``."""
    function.__name__ = function.__qualname__ = f"{function.__name__}{dims}d"
    return function


def with_parameters(
    function: K,
    *names: str,
    marks: Mapping[str, str] | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> K:
    """Say which parameters a function takes in place of ``*args``.

    An op is declared by the signatures of its kernel and its derivatives. ``marks``
    are annotations, such as "Array".
    """
    function.__signature__ = Signature(  # type: ignore[attr-defined]
        [
            Parameter(
                name,
                Parameter.POSITIONAL_OR_KEYWORD,
                default=(defaults or {}).get(name, Parameter.empty),
                annotation=(marks or {}).get(name, Parameter.empty),
            )
            for name in names
        ]
    )
    return function
