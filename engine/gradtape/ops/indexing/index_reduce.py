"""index_reduce: combine whole positions of a dimension in four ways."""

from __future__ import annotations

from typing import Any

from ..._common.warn import warn_once
from ..._dispatch.apply import apply
from ..._dispatch.declare import OPS, Array, method
from ..._dispatch.inplace import write
from ..._dtypes import DTYPE_OF
from ..._tensor.tensor import Tensor
from .._support.arguments import wrap_dim
from .._support.operands import hidden_op
from .._support.out_argument import SAME_DTYPE, with_out
from .._support.reduce_at_index import Places, combined, gradients_at

_BETA = "index_reduce() is in beta and the API may change at any time."
_TWO_ZEROS = (
    "index_reduce(): Double backward is unsupported for source when >1 zeros in source "
    "are scattered to the same position in self"
)


def _gradients(
    F: Any,
    grad: Any,
    self: Any,
    index: Any,
    source: Any,
    result: Any,
    dim: int,
    reduce: str,
    include_self: bool,
) -> tuple[Any, Any]:
    places = Places(
        take=lambda x: F.index_select(x, dim, index),
        add=lambda x, y: F.index_add(x, dim, index, y),
        combine=lambda x, y: F.index_reduce(x, dim, index, y, reduce, include_self),
        clear=lambda x: F._index_fill_value(x, dim, index, 0),
        refusal=_TWO_ZEROS,
    )
    return gradients_at(F, grad, self, source, result, reduce, include_self, places)


@hidden_op({("self", "source"): _gradients}, name="index_reduce")
def _index_reduce(
    xp: Any,
    self: Array,
    dim: int,
    index: Array,
    source: Array,
    reduce: str,
    include_self: bool = True,
) -> Any:
    """Combine positions of ``source`` with those that ``index`` names along ``dim``."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(
            "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but "
            f"got {reduce}."
        )
    d = wrap_dim(dim, self.ndim)
    places = _checked(xp, self, d, index, source)
    if self.dtype.kind in "bc":
        kind = DTYPE_OF[self.dtype].cpp_name
        raise NotImplementedError(f"\"index_func_\" not implemented for '{kind}'")
    if not index.size:
        return self.copy()
    at = (*(slice(None),) * d, places)
    part = source if self.ndim else source.reshape(1)
    return combined(xp, self, at, part, reduce, include_self, stepwise=True)


def _checked(xp: Any, self: Any, d: int, index: Any, source: Any) -> Any:
    """Return the index as a vector; refuse what does not fit, as PyTorch does."""
    if index.ndim > 1:
        kind = DTYPE_OF[index.dtype].cpp_name
        raise IndexError(
            "index_reduce_(): Index is supposed to be a vector, but got dim: "
            f"{index.ndim} with type: {kind} and size: {list(index.shape)}"
        )
    if index.dtype not in (xp.int64, xp.int32):
        raise RuntimeError(
            "index_reduce_(): Expected dtype int32/int64 for index but got: "
            f"{DTYPE_OF[index.dtype].cpp_name}"
        )
    if self.dtype != source.dtype:
        mine, theirs = DTYPE_OF[self.dtype].cpp_name, DTYPE_OF[source.dtype].cpp_name
        raise RuntimeError(
            f"index_reduce_(): self ({mine}) and source ({theirs}) must have the same "
            "scalar type"
        )
    if source.ndim > d and source.shape[d] != index.size:
        raise RuntimeError(
            f"index_reduce_(): Number of indices ({index.size}) should be equal to "
            f"source.size(dim): ({source.shape[d]}), for dim: {d}"
        )
    rest = self.shape[:d] + self.shape[d + 1 :]
    if self.ndim != source.ndim or rest != source.shape[:d] + source.shape[d + 1 :]:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified "
            f"dimension. Got self.shape = {list(self.shape)} source.shape = "
            f"{list(source.shape)}"
        )
    places = index.reshape(-1)
    if ((places < 0) | (places >= (self.shape[d] if self.ndim else 1))).any():
        raise IndexError("index out of range in self")
    return places


@method(function=True)
@with_out(SAME_DTYPE)
def index_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Tensor:
    """Combine positions of a dimension in one of four ways: prod, mean, amax, amin.

    ``include_self=False`` leaves out what was at the positions before. Warns, once,
    that PyTorch may still change it.
    """
    warn_once(_BETA)
    options = (dim, reduce, include_self)
    return apply(OPS["index_reduce"], (input, index, source), options)


@method()
def index_reduce_(
    self: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Tensor:
    """In-place version of index_reduce()."""
    warn_once(_BETA)
    options = (dim, reduce, include_self)
    return write(OPS["index_reduce"], (self, index, source), options)
