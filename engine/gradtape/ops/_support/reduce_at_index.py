"""Derivatives of ops that combine many elements at one place: scatter_ and index_."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from ..._dispatch.declare import Array
from ..._dtypes import DTYPE_OF
from ..._tensor.tensor import Tensor
from .operands import hidden_op
from .special import widened

UFUNC = {
    "sum": "add",
    "mean": "add",
    "prod": "multiply",
    "amax": "maximum",
    "amin": "minimum",
}
_START = {"sum": 0, "mean": 0, "prod": 1}


class Places(NamedTuple):
    """How an op finds its places: by an index of elements, or of whole positions."""

    take: Callable[[Any], Any]  # what lies at the places
    add: Callable[[Any, Any], Any]  # a tensor with values added there
    combine: Callable[[Any, Any], Any]  # the op itself, of two other tensors
    clear: Callable[[Any], Any]  # a tensor with zeros there
    refusal: str  # what PyTorch says of a second derivative at several zeros


def gradients_at(
    F: Any,
    grad: Any,
    self: Any,
    src: Any,
    result: Any,
    reduce: str,
    include_self: bool,
    places: Places,
) -> tuple[Any, Any]:
    """Return the gradients of what was written to, and of what was combined."""
    if reduce == "sum":
        into_self, into_src = grad, places.take(grad)
    elif reduce == "mean":
        into_self, into_src = _of_mean(F, grad, src, include_self, places)
    elif reduce == "prod":
        into_self, into_src = _of_product(F, grad, self, src, result, places)
    else:
        into_self, into_src = _of_extreme(F, grad, self, src, result, places)
    return into_self if include_self else places.clear(into_self), into_src


def _of_mean(
    F: Any, grad: Any, src: Any, include_self: bool, places: Places
) -> tuple[Any, Any]:
    count = F.ones_like(grad) if include_self else F.zeros_like(grad)
    count = places.add(count, F.ones_like(src))
    share = grad / F._masked_fill_value(count, count == 0, 1)
    return share, places.take(share)


def _of_product(
    F: Any, grad: Any, self: Any, src: Any, result: Any, places: Places
) -> tuple[Any, Any]:
    # Divided by one factor, the product is that of the others. A factor of zero needs
    # the product without it: for the only zero of a place one in its stead gives that,
    # and two zeros make it zero anyway.
    nonzero_self = F._masked_fill_value(self, self == 0, 1)
    into_self = grad * places.combine(nonzero_self, src) / nonzero_self
    zero = src == 0
    as_numbers = F._to_copy(zero, _dtype_of(src))
    zeros = places.take(places.add(F.zeros_like(self), as_numbers))
    only = zero & (zeros == 1)
    others = places.combine(self, F._masked_fill_value(src, only, 1))
    divided = places.take(grad * result) / F._masked_fill_value(src, zero, 1)
    into_src = F.where(only, places.take(grad * others), divided)
    if isinstance(zeros, Tensor) and bool((zeros > 1).any()):
        into_src = F._once_only(into_src, places.refusal)
    return into_self, into_src


def _of_extreme(
    F: Any, grad: Any, self: Any, src: Any, result: Any, places: Places
) -> tuple[Any, Any]:
    chosen_self = F._to_copy(self == result, _dtype_of(grad))
    chosen_src = F._to_copy(src == places.take(result), _dtype_of(grad))
    share = grad / places.add(chosen_self, chosen_src)
    return chosen_self * share, chosen_src * places.take(share)


def _dtype_of(value: Any) -> Any:
    return value.dtype if isinstance(value, Tensor) else DTYPE_OF[value.dtype]


def _refuse(F: Any, grad: Any, sentence: str) -> Any:
    raise RuntimeError(sentence)


@hidden_op({"self": _refuse}, node="DelayedError")
def _once_only(xp: Any, self: Array, sentence: str) -> Any:
    """Pass on a gradient that cannot be differentiated again; raises when it is."""
    return self.copy()


# ---- forward ----


def combined(
    xp: Any,
    self: Any,
    places: Any,
    part: Any,
    reduce: str,
    include_self: bool,
    stepwise: bool = False,
) -> Any:
    """Combine ``part`` with the elements of ``self`` at ``places``, an index.

    ``stepwise`` rounds 16-bit floats at each element, not once.
    """
    result = self.copy().reshape(self.shape or (1,))
    if not include_self:
        result[places] = _start(xp, reduce, self.dtype)
    ufunc = getattr(xp, UFUNC[reduce])
    (ufunc.at if stepwise else partial(at_once, ufunc))(result, places, part)
    if reduce == "mean":
        count = xp.full(result.shape, int(include_self), result.dtype)
        at_once(xp.add, count, places, xp.ones_like(part))
        count[count == 0] = 1
        whole = self.dtype.kind in "iu"
        result = result // count if whole else result / count
    return result.reshape(self.shape)


def at_once(ufunc: Any, whole: Any, places: Any, part: Any) -> None:
    """Combine ``part`` with an array at an index; 16-bit floats in 32 bits."""
    wide = widened(whole)
    ufunc.at(wide, places, widened(part))
    if wide is not whole:
        whole[...] = wide


def _start(xp: Any, reduce: str, kind: Any) -> Any:
    if reduce in _START:
        return _START[reduce]
    if kind.kind == "b":
        return reduce == "amin"
    if kind.kind in "fV":
        return -xp.inf if reduce == "amax" else xp.inf
    limits = xp.iinfo(kind)
    return limits.min if reduce == "amax" else limits.max
