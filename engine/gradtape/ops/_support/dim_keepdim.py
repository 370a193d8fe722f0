"""Reading ``dim`` and ``keepdim``, which may come under NumPy's names."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ..._dispatch.declare import ABSENT as ABSENT


def dim_argument(dim: Any, axis: Any, keepdim: Any, keepdims: Any) -> tuple[Any, Any]:
    """Return (dim, keepdim) from PyTorch's or NumPy's names."""
    return (
        dim if axis is ABSENT else axis,
        keepdim if keepdims is ABSENT else keepdims,
    )


K = TypeVar("K", bound=Callable[..., Any])
_NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim"}


def numpy_names(function: K) -> K:
    """Let a function take ``dim`` as ``axis`` too, and ``keepdim`` as ``keepdims``."""

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        if named:
            for given, name in _NUMPY_NAMES.items():
                if given in named and name not in named:
                    named[name] = named.pop(given)
        return function(*args, **named)

    return call  # pyright: ignore[reportReturnType]
