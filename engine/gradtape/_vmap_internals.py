"""``torch._vmap_internals``: vmap by its older path."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from .func import vmap as _current

_DEPRECATED = (
    "Please use `torch.vmap` instead of `torch._vmap_internals.vmap`. "
    "`torch._vmap_internals.vmap` is deprecated and will be removed in a future "
    "release."
)


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0) -> Any:
    """Return ``func`` over a dimension of its arguments, with a warning.

    >>> import warnings
    >>> import gradtape as torch
    >>> from gradtape._vmap_internals import vmap
    >>> with warnings.catch_warnings(action="ignore"):
    ...     vmap(torch.sin)(torch.zeros(2))
    tensor([0., 0.])
    """
    warnings.warn(_DEPRECATED, FutureWarning, stacklevel=2)
    return _vmap(func, in_dims, out_dims)


def _vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    allow_none_pass_through: bool = False,
) -> Any:
    """Return the same; where that is asked for, a result of None stays None."""
    if not allow_none_pass_through:
        return _current(func, in_dims, out_dims)

    @functools.wraps(func)
    def wrapped(*args: Any) -> Any:
        absent: list[int] = []

        def present(*given: Any) -> Any:
            found = func(*given)
            if not isinstance(found, tuple):
                return found
            absent[:] = [i for i, each in enumerate(found) if each is None]
            return tuple(each for each in found if each is not None)

        results = _current(present, in_dims, out_dims)(*args)
        if not absent:
            return results
        filled = list(results)
        for at in absent:
            filled.insert(at, None)
        return tuple(filled)

    return wrapped
