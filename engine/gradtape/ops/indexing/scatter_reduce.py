"""scatter_reduce: combine elements at places named along a dimension, in five ways."""

from __future__ import annotations

from typing import Any

from ..._dispatch.apply import apply
from ..._dispatch.declare import OPS, Array, method
from ..._dispatch.inplace import write
from ..._tensor.tensor import Tensor
from .._support.operands import hidden_op
from .._support.out_argument import SAME_DTYPE, with_out
from .._support.reduce_at_index import UFUNC, Places, combined, gradients_at
from .gather import check_places, same_dtype

_TWO_ZEROS = (
    "scatter_reduce(): Double backward is unsupported for src when >1 zeros in src are "
    "scattered to the same position in self"
)


def _gradients(
    F: Any,
    grad: Any,
    self: Any,
    index: Any,
    src: Any,
    result: Any,
    dim: int,
    reduce: str,
    include_self: bool,
) -> tuple[Any, Any]:
    places = Places(
        take=lambda x: F.gather(x, dim, index),
        add=lambda x, y: F.scatter_add(x, dim, index, y),
        combine=lambda x, y: F.scatter_reduce(x, dim, index, y, reduce, include_self),
        clear=lambda x: F._scatter_value(x, dim, index, 0),
        refusal=_TWO_ZEROS,
    )
    return gradients_at(F, grad, self, src, result, reduce, include_self, places)


@hidden_op({("self", "src"): _gradients}, name="scatter_reduce")
def _scatter_reduce(
    xp: Any,
    self: Array,
    dim: int,
    index: Array,
    src: Array,
    reduce: str,
    include_self: bool = True,
) -> Any:
    """Combine the elements of ``src`` at the places ``index`` names along ``dim``."""
    if reduce not in UFUNC:
        raise RuntimeError(
            "reduce argument must be either sum, prod, mean, amax or amin, got "
            f"{reduce}"
        )
    same_dtype("scatter", self, src)
    if not index.size:
        return self.copy()
    places, part = check_places(xp, self, dim, index, src)
    return combined(xp, self, places, part, reduce, include_self)


@method(function=True)
@with_out(SAME_DTYPE)
def scatter_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Tensor:
    """Combine elements at places named along a dimension: sum, prod, mean, amax, amin.

    >>> import gradtape as torch
    >>> torch.zeros(2).scatter_reduce(
    ...     0, torch.tensor([0, 0]), torch.tensor([1.0, 2.0]), "amax"
    ... )
    tensor([2., 0.])
    """
    options = (dim, reduce, include_self)
    return apply(OPS["scatter_reduce"], (input, index, src), options)


@method()
def scatter_reduce_(
    self: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Tensor:
    """In-place version of scatter_reduce()."""
    options = (dim, reduce, include_self)
    return write(OPS["scatter_reduce"], (self, index, src), options)
