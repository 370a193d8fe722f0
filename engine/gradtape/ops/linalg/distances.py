"""Distances between all pairs of points: ``cdist``, ``pdist``; and ``renorm``."""

from __future__ import annotations

from math import inf
from typing import Any

from ..._autocast.autocast import autocasts
from ..._dispatch.declare import Array, op, public
from ..._dispatch.inplace import inplace
from ..._tensor.tensor import Tensor
from .._support.arguments import check_tensor, wrap_dim
from .._support.linalg import common_batch, kind_name, rows
from .._support.matrix_product import scalar_name
from .._support.operands import hidden_op, number
from .._support.out_argument import SAME_DTYPE
from ..reduction.norms import norm_backward
from ..views.reshape import view

_CHUNK = 1 << 22
"""Differences held at a time: all pairs of points at once may not fit."""

_FEW = 25
"""Points up to which PyTorch takes differences rather than a matrix product."""


def _norms(xp: Any, apart: Any, p: float) -> Any:
    """Return the p-norms of differences, which lie along the last axis."""
    if p == 2:
        return xp.sqrt(xp.einsum("...m,...m->...", apart, apart))
    size = xp.abs(apart)
    if p == 0:
        return (size != 0).sum(-1).astype(apart.dtype)
    if p == 1:
        return size.sum(-1)
    if p == inf:
        return size.max(-1, initial=0)
    return (size**p).sum(-1) ** (1 / p)


def _pair_parts(F: Any, grad: Any, apart: Any, p: float, distances: Any) -> Any:
    """Return, for every pair of points, the gradient of the first one."""
    if p == 0:
        return F.zeros_like(apart)
    if p == inf:
        farthest = F.abs(apart) == F.unsqueeze(distances, -1)
        return F.unsqueeze(grad, -1) * F.sgn(apart) * farthest
    return norm_backward(F, grad, apart, p, distances, -1, False)


def _between(F: Any, x1: Any, x2: Any) -> Any:
    return F.unsqueeze(x1, -2) - F.unsqueeze(x2, -3)


def _forward_backward(
    F: Any, grad: Any, x1: Any, x2: Any, result: Any, p: float, needs: Any
) -> Any:
    size = x1.shape[-2] * x2.shape[-2] * x1.shape[-1]
    if p == 2 and size > _CHUNK:
        return _euclidean_backward(F, grad, x1, x2, result)
    parts = _pair_parts(F, grad, _between(F, x1, x2), p, result)
    first = F.sum(parts, (-2,)) if needs[0] else None
    return first, -F.sum(parts, (-3,)) if needs[1] else None


@hidden_op(
    {("x1", "x2"): _forward_backward},
    key="_cdist_forward",
    name="_cdist_forward",
    node="CdistBackward0",
)
def _cdist_forward(xp: Any, x1: Array, x2: Array, p: float) -> Any:
    batch = common_batch(x1, x2)
    if x1.dtype != x2.dtype:
        raise RuntimeError(
            f"expected scalar type {scalar_name(x1)} but found {scalar_name(x2)}"
        )
    if x1.dtype.itemsize == 2:
        raise NotImplementedError(f"\"cdist\" not implemented for '{kind_name(x1)}'")
    rows, others, size = x1.shape[-2], x2.shape[-2], x1.shape[-1]
    found = xp.empty((*batch, rows, others), x1.dtype)
    if not found.size:
        return found
    count = int(found.size // rows) * max(size, 1)
    step = max(1, _CHUNK // count)
    for start in range(0, rows, step):
        part = slice(start, start + step)
        apart = x1[..., part, None, :] - x2[..., None, :, :]
        found[..., part, :] = _norms(xp, apart, p)
    return found


def _euclidean_backward(F: Any, grad: Any, x1: Any, x2: Any, result: Any) -> Any:
    ratio = F.where(result == 0, 0.0, grad / result)
    turned = F.transpose(ratio, -2, -1)
    return (
        x1 * F.sum(ratio, (-1,), True) - F.matmul(ratio, x2),
        x2 * F.sum(turned, (-1,), True) - F.matmul(turned, x1),
    )


@hidden_op(
    {("x1", "x2"): _euclidean_backward},
    name="_euclidean_dist",
    key="_euclidean_dist",
    node="EuclideanDistBackward0",
)
def _euclidean_dist(xp: Any, x1: Array, x2: Array) -> Any:
    common_batch(x1, x2)
    squares1 = (x1 * x1).sum(-1)[..., :, None]
    squares2 = (x2 * x2).sum(-1)[..., None, :]
    product = xp.matmul(x1, x2.swapaxes(-1, -2))
    return xp.sqrt(xp.maximum(squares1 + squares2 - 2 * product, 0))


_MODES = (
    "use_mm_for_euclid_dist_if_necessary",
    "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist",
)


@public
@autocasts("cdist")
def cdist(
    x1: Tensor,
    x2: Tensor,
    p: float = 2.0,
    compute_mode: str | None = "use_mm_for_euclid_dist_if_necessary",
) -> Tensor:
    """Return the p-norms of the differences of all pairs of points of two sets.

    ``x1`` is (*, P, M), ``x2`` (*, R, M), the result (*, P, R). ``compute_mode`` says
    whether to use a matrix product for p = 2: by default beyond 25 points.

    >>> import gradtape as torch
    >>> torch.cdist(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """
    check_tensor(x1, "cdist", "x1")
    check_tensor(x2, "cdist", "x2", 2)
    if compute_mode is not None and compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    by_product = _MODES.index(compute_mode or _MODES[0])
    p = float(p)
    _check_points(x1, x2, p)
    rows, others = x1.shape[-2], x2.shape[-2]
    many = rows > _FEW or others > _FEW
    if p == 2 and (by_product == 1 or (by_product == 0 and many)):
        batch = common_batch(x1, x2)
        if rows and others and x1.shape[-1] and 0 not in batch:
            first, second = (
                each
                if tuple(each.shape[:-2]) == batch
                else each.expand((*batch, *each.shape[-2:]))
                for each in (x1, x2)
            )
            return view(_euclidean_dist(first, second), (*batch, rows, others))
    return _cdist_forward(x1, x2, p)


def _check_points(x1: Tensor, x2: Tensor, p: float) -> None:
    for name, each in (("X1", x1), ("X2", x2)):
        if each.dim() < 2:
            raise RuntimeError(
                f"cdist only supports at least 2D tensors, {name} got: {each.dim()}D"
            )
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: "
            f"{x2.shape[-1]}"
        )
    for name, each in (("X1", x1), ("X2", x2)):
        if not each.is_floating_point():
            raise RuntimeError(
                f"cdist only supports floating-point dtypes, {name} got: "
                f"{each.dtype.cpp_name}"
            )
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")


# ---- one set of points -------------------------------------------------------------


@hidden_op({"self": lambda F, grad, self_shape, n: F._above_diagonal(grad)})
def _upper_square(xp: Any, self: Array, n: int) -> Any:
    """Write values above the diagonal of an n by n matrix of zeros, row by row."""
    found = xp.zeros((n, n), self.dtype)
    found[xp.triu_indices(n, 1)] = self
    return found


@hidden_op({"self": lambda F, grad, self_shape: F._upper_square(grad, self_shape[0])})
def _above_diagonal(xp: Any, self: Array) -> Any:
    """Return what is above the diagonal of a square matrix, row by row."""
    return self[xp.triu_indices(self.shape[0], 1)]


def _pdist_backward(F: Any, grad: Any, self: Any, result: Any, p: float) -> Any:
    n = self.shape[0]
    grads, distances = F._upper_square(grad, n), F._upper_square(result, n)
    parts = _pair_parts(F, grads, _between(F, self, self), p, distances)
    return F.sum(parts, (-2,)) - F.sum(parts, (-3,))


@hidden_op(
    {"self": _pdist_backward},
    name="_pdist_forward",
    key="_pdist_forward",
    node="PdistBackward0",
)
def _pdist_forward(xp: Any, self: Array, p: float) -> Any:
    if self.dtype.itemsize == 2:
        raise NotImplementedError(f"\"pdist\" not implemented for '{kind_name(self)}'")
    n = self.shape[0]
    found = xp.empty(n * (n - 1) // 2, self.dtype)
    start = 0
    for i in range(n - 1):
        found[start : start + n - 1 - i] = _norms(xp, self[i] - self[i + 1 :], p)
        start += n - 1 - i
    return found


@public
@autocasts("pdist")
def pdist(input: Tensor, p: float = 2) -> Tensor:
    """Return the p-norms of the differences of all pairs of rows: N (N - 1) / 2.

    >>> import gradtape as torch
    >>> torch.pdist(torch.tensor([[0.0], [1.0], [3.0]]))
    tensor([1., 3., 2.])
    """
    check_tensor(input, "pdist")
    if input.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.dim()}D")
    if not input.is_floating_point():
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    return _pdist_forward(input.contiguous(), float(p))


# ---- renorm ------------------------------------------------------------------------

_LITTLE = 1e-7  # PyTorch's, against division by zero


def _others(ndim: int, dim: int) -> tuple[int, ...]:
    return tuple(d for d in range(ndim) if d != dim % ndim)


def _renorm_backward(
    F: Any, grad: Any, self: Any, p: Any, dim: int, maxnorm: Any
) -> Any:
    axes = _others(len(self.shape), dim)
    norm = F.linalg_vector_norm(self, p, axes, True)
    along = F.conj(self) * grad
    along = F.sum(F.real(along) if _complex(F, along) else along, axes, True)
    turned = norm_backward(F, along, self, p, norm, axes, True)
    inverse = 1 / (norm + _LITTLE)
    kept = grad if turned is None else grad - inverse * turned
    return F.where(norm > maxnorm, maxnorm * inverse * kept, grad)


def _complex(F: Any, value: Any) -> bool:
    return value.dtype.kind == "c" if F.raw else value.dtype.is_complex


@op({"self": _renorm_backward}, out=True, out_rule=SAME_DTYPE)
def renorm(xp: Any, self: Array, p: float, dim: int, maxnorm: float) -> Any:
    """Scale the slices along ``dim`` whose p-norm is above ``maxnorm`` down to it."""
    p, maxnorm = number(p), number(maxnorm)
    if isinstance(p, complex):
        raise RuntimeError("renorm: p must be real-valued")
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if isinstance(maxnorm, complex):
        raise RuntimeError("renorm: maxnorm must be real-valued")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if self.ndim < 2:
        raise RuntimeError(
            f"renorm: input needs at least 2 dimensions, got {self.ndim} dimensions"
        )
    axes = _others(self.ndim, wrap_dim(dim, self.ndim))
    if self.dtype.kind not in "fcV":
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. "
            f"Got {kind_name(self)}"
        )
    size = xp.abs(self)
    if p == inf:
        norm = size.max(axes, keepdims=True, initial=0)
    else:
        norm = (size**p).sum(axes, keepdims=True) ** (1 / p)
    factor = xp.where(norm > maxnorm, maxnorm / (norm + _LITTLE), 1)
    return rows(xp, (self * factor.astype(size.dtype)).astype(self.dtype, copy=False))


inplace("renorm")
