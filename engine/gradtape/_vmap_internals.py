"""``torch._vmap_internals``: vmap by its older path."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from ._random.generator import RANDOM_IN_VMAP
from ._tensor.tensor import Tensor
from .autograd._functional.row_by_row import RANDOM
from .func import vmap as _current
from .utils._pytree import broadcast_to_leaves, tree_flatten

_DEPRECATED = (
    "Please use `torch.vmap` instead of `torch._vmap_internals.vmap`. "
    "`torch._vmap_internals.vmap` is deprecated and will be removed in a future "
    "release."
)
_IN_DIM = (
    "vmap({0}, in_dims={1}, ...)(<inputs>): Got in_dim={2} for some input, but that "
    "input is a Tensor of dimensionality {3} so expected in_dim to satisfy "
    "0 <= in_dim < {3}."
)
_OUT_DIMS = (
    "vmap({}, ..., out_dims={}): `out_dims` must be an int or a tuple of int "
    "representing where in the outputs the vmapped dimension should appear."
)
_COUNT = (
    "vmap({0}, ..., out_dims={1}): `out_dims` must have one dim per output (got {2} "
    "outputs) of {0}."
)
_NO_TENSOR = "vmap({0}, ...): `{0}` must only return Tensors, got type {1} {2}."


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
    name = func.__name__ if hasattr(func, "__name__") else repr(func)

    @functools.wraps(func)
    def wrapped(*args: Any) -> Any:
        given = out_dims if isinstance(out_dims, tuple) else (out_dims,)
        if not all(isinstance(each, int) for each in given):
            raise ValueError(_OUT_DIMS.format(name, out_dims))
        _check_in_dims(name, in_dims, args)
        absent: list[int] = []

        def present(*given: Any) -> Any:
            found = func(*given)
            if not allow_none_pass_through:
                _check_outputs(name, found)
            count = len(found) if isinstance(found, tuple) else 1
            if isinstance(out_dims, tuple) and len(out_dims) != count:
                raise ValueError(_COUNT.format(name, out_dims, count))
            if not isinstance(found, tuple):
                return found
            absent[:] = [i for i, each in enumerate(found) if each is None]
            return tuple(each for each in found if each is not None)

        try:
            results = _current(present, in_dims, out_dims)(*args)
        except RuntimeError as error:
            if str(error) != RANDOM_IN_VMAP:
                raise
            raise RuntimeError(RANDOM) from error
        if not absent:
            return results
        filled = list(results)
        for at in absent:
            filled.insert(at, None)
        return tuple(filled)

    return wrapped


def _check_in_dims(name: str, in_dims: Any, args: tuple[Any, ...]) -> None:
    """Refuse to count dimensions from the last."""
    leaves, spec = tree_flatten(args)
    dims = broadcast_to_leaves(in_dims, spec) or ()
    for leaf, dim in zip(leaves, dims, strict=False):
        counted = isinstance(leaf, Tensor) and isinstance(dim, int)
        if counted and not 0 <= dim < leaf.dim():
            raise ValueError(_IN_DIM.format(name, in_dims, dim, leaf.dim()))


def _check_outputs(name: str, found: Any) -> None:
    """Refuse whatever is neither a tensor nor a tuple of tensors."""
    if isinstance(found, Tensor):
        return
    if not isinstance(found, tuple):
        raise ValueError(_NO_TENSOR.format(name, type(found), "as the return"))
    for place, each in enumerate(found):
        if not isinstance(each, Tensor):
            raise ValueError(_NO_TENSOR.format(name, type(each), f"for return {place}"))
