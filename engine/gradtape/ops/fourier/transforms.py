"""The three transforms that all of gradtape.fft is made of, with their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._backend import backend_of
from ..._dispatch.declare import Array
from ..._tensor.tensor import wrap
from .._support.operands import hidden_op
from .._support.reduction import values_of

FORWARD = ("backward", "ortho", "forward")
INVERSE = ("forward", "ortho", "backward")
"""What SciPy calls the scalings that PyTorch counts: none, by the root of n, by n."""


def _library(xp: Any) -> Any:
    if xp is np:
        from scipy import fft
    else:
        from cupyx.scipy import fft  # pyright: ignore[reportMissingImports]
    return fft


def _order(self: Any, dim: tuple[int, ...], last: bool) -> list[int]:
    """Return the dimensions as they lie in PyTorch's result, the outermost first.

    Those that are not transformed come first; among equals, larger strides do. The
    ``last`` transformed dimension keeps its place where its length changes.
    """
    by_stride = sorted(range(self.ndim), key=lambda d: -self.strides[d])
    moved = dim[:-1] if last else dim
    outer = [d for d in by_stride if d not in dim]
    inner = [d for d in by_stride if d in moved]
    return [*outer, *inner, *(dim[-1:] if last else ())]


def _transformed(
    call: Any, self: Any, dim: tuple[int, ...], last: bool, **options: Any
) -> Any:
    """Run a transform over the innermost dimensions; put the dimensions back."""
    order = _order(self, dim, last)
    axes = tuple(range(self.ndim - len(dim), self.ndim))
    found = call(self.transpose(order), axes=axes, **options)
    places = [order.index(d) for d in range(self.ndim)]
    return found.transpose(places)


# ---- complex to complex ----


@hidden_op(
    {
        "self": lambda F, grad, dim, normalization, forward: F._fft_c2c(
            grad, dim, normalization, not forward
        )
    },
    node="FftC2CBackward0",
)
def _fft_c2c(
    xp: Any, self: Array, dim: tuple[int, ...], normalization: int, forward: bool
) -> Any:
    """Transform complex values along dimensions, one way or the other."""
    if not dim or not self.size:
        return self.copy()
    fft = _library(xp)
    call, names = (fft.fftn, FORWARD) if forward else (fft.ifftn, INVERSE)
    return _transformed(call, self, dim, False, norm=names[normalization])


# ---- real to complex ----


def _r2c_backward(
    F: Any, grad: Any, self: Any, dim: Any, normalization: int, onesided: bool
) -> Any:
    if onesided:  # the half that was left out got no gradient
        missing = self.shape[dim[-1]] - grad.shape[dim[-1]]
        behind = len(self.shape) - 1 - dim[-1]
        grad = F.constant_pad_nd(grad, (0, 0) * behind + (0, missing), 0)
    return F.real(F._fft_c2c(grad, dim, normalization, False))


@hidden_op({"self": _r2c_backward}, node="FftR2CBackward0")
def _fft_r2c(
    xp: Any, self: Array, dim: tuple[int, ...], normalization: int, onesided: bool
) -> Any:
    """Transform real values; ``onesided`` leaves out the half that mirrors."""
    fft = _library(xp)
    call = fft.rfftn if onesided else fft.fftn
    if not self.size:
        shape = list(self.shape)
        if onesided:
            shape[dim[-1]] = shape[dim[-1]] // 2 + 1
        return xp.zeros(tuple(shape), (self[:0] * 1j).dtype)
    return _transformed(call, self, dim, True, norm=FORWARD[normalization])


# ---- complex to real ----


def _c2r_backward(F: Any, grad: Any, dim: Any, normalization: int) -> Any:
    half = F._fft_r2c(grad, dim, normalization, True)
    length = half.shape[dim[-1]]
    twice = grad.shape[dim[-1]] - length
    raw = values_of(grad)
    weights = backend_of(raw).xp.ones((length,), raw.dtype)
    weights[1 : 1 + twice] = 2  # these stand for their mirror images too
    weights = weights.reshape((length, *(1,) * (raw.ndim - 1 - dim[-1])))
    return half * (weights if F.raw else wrap(weights))


@hidden_op({"self": _c2r_backward}, node="FftC2RBackward0")
def _fft_c2r(
    xp: Any,
    self: Array,
    dim: tuple[int, ...],
    normalization: int,
    last_dim_size: int,
) -> Any:
    """Transform one half of a spectrum back to the real values it came from."""
    fft = _library(xp)
    norm = INVERSE[normalization]
    last = dim[-1]
    if not self.size:
        shape = (*self.shape[:last], last_dim_size, *self.shape[last + 1 :])
        return xp.zeros(shape, self.real.dtype)
    found = self
    if len(dim) > 1:
        found = _transformed(fft.ifftn, self, dim[:-1], False, norm=norm)
    return _transformed(fft.irfftn, found, (last,), True, s=(last_dim_size,), norm=norm)


@hidden_op(
    {"self": lambda F, grad: F._conj_physical(grad)},
    name="conj_physical",
    key="_conj_physical",
)
def _conj_physical(xp: Any, self: Array) -> Any:
    """Conjugate complex values in memory of their own."""
    return xp.conjugate(self).astype(self.dtype, copy=False)  # of bools it makes ints
