"""scatter_reduce: combine elements at places named along a dimension, in five ways."""

from __future__ import annotations

from typing import Any

from .._apply import apply
from .._define import OPS, Array, method, op
from .._dtypes import DTYPE_OF
from .._inplace import write
from .._tensor import Tensor
from .gather import check_places, same_dtype

_START = {"sum": 0, "mean": 0, "prod": 1}
_UFUNC = {
    "sum": "add",
    "mean": "add",
    "prod": "multiply",
    "amax": "maximum",
    "amin": "minimum",
}


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
    into_self, into_src = _shares(
        F, grad, self, index, src, result, dim, reduce, include_self
    )
    if not include_self:
        into_self = F._scatter_value(into_self, dim, index, 0)
    return into_self, into_src


def _shares(
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
    if reduce == "sum":
        return grad, F.gather(grad, dim, index)
    if reduce == "mean":
        count = F.ones_like(grad) if include_self else F.zeros_like(grad)
        count = F.scatter_add(count, dim, index, F.ones_like(src))
        share = grad / F._masked_fill_value(count, count == 0, 1)
        return share, F.gather(share, dim, index)
    if reduce == "prod":
        whole = grad * result
        return (
            whole / F._masked_fill_value(self, self == 0, 1),
            F.gather(whole, dim, index) / F._masked_fill_value(src, src == 0, 1),
        )
    chosen_self = F._to_copy(self == result, _dtype_of(grad))
    chosen_src = F._to_copy(src == F.gather(result, dim, index), _dtype_of(grad))
    share = grad / F.scatter_add(chosen_self, dim, index, chosen_src)
    return chosen_self * share, chosen_src * F.gather(share, dim, index)


def _dtype_of(grad: Any) -> Any:
    return grad.dtype if isinstance(grad, Tensor) else DTYPE_OF[grad.dtype]


@op(
    {
        (
            "self",
            "src",
        ): lambda F, grad, self, index, src, result, dim, reduce, include_self: (
            _gradients(F, grad, self, index, src, result, dim, reduce, include_self)
        )
    },
    name="scatter_reduce",
    method=False,
    function=False,
)
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
    if reduce not in _UFUNC:
        raise RuntimeError(
            "reduce argument must be either sum, prod, mean, amax or amin, got "
            f"{reduce}"
        )
    same_dtype("scatter", self, src)
    result = self.copy()
    if not index.size:
        return result
    places, part = check_places(xp, self, dim, index, src)
    result = result.reshape(result.shape or (1,))
    if not include_self:
        result[places] = _start(xp, reduce, self.dtype)
    getattr(xp, _UFUNC[reduce]).at(result, places, part)
    if reduce == "mean":
        count = xp.full(result.shape, int(include_self), self.dtype)
        xp.add.at(count, places, xp.ones_like(part))
        count[count == 0] = 1
        whole = self.dtype.kind in "iu"
        result = result // count if whole else result / count
    return result.reshape(self.shape)


def _start(xp: Any, reduce: str, kind: Any) -> Any:
    if reduce in _START:
        return _START[reduce]
    if kind.kind == "f":
        return -xp.inf if reduce == "amax" else xp.inf
    limits = xp.iinfo(kind)
    return limits.min if reduce == "amax" else limits.max


@method(function=True)
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
