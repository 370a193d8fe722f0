"""Divergences of normal distributions of vectors, of full and of low rank."""

from __future__ import annotations

from .. import linalg
from .._tensor.tensor import Tensor
from ._functions import F
from ._kl_registry import register_kl
from ._matrices import log_diagonal, squared_length
from .lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    lowrank_distance,
    lowrank_logdet,
)
from .multivariate_normal import MultivariateNormal

_OTHER_SHAPE = (
    "KL-divergence between two {}Multivariate Normals with"
    + " " * 26  # as PyTorch's sentences have it
    + "different event shapes cannot be computed"
)
Either = MultivariateNormal | LowRankMultivariateNormal


def _check(p: Either, q: Either, kinds: str = "(Low Rank) ") -> int:
    if p.event_shape != q.event_shape:
        raise ValueError(_OTHER_SHAPE.format(kinds))
    return p.event_shape[0]


def _squares(matrix: Tensor) -> Tensor:
    """Return the trace of X X'."""
    return matrix.pow(2).sum((-2, -1))


def _solved(q: MultivariateNormal, matrix: Tensor) -> Tensor:
    return linalg.solve_triangular(q._unbroadcasted_scale_tril, matrix, upper=False)


def _reduced(q: LowRankMultivariateNormal) -> Tensor:
    """Return A with A' A = D^-1 W (I + W' D^-1 W)^-1 W' D^-1."""
    w, d = q._parts
    inner = w.mT / d.unsqueeze(-2)
    return linalg.solve_triangular(q._capacitance_tril, inner, upper=False)


def _log_det(x: Either) -> Tensor:
    if isinstance(x, MultivariateNormal):
        return 2 * log_diagonal(x._unbroadcasted_scale_tril)
    return lowrank_logdet(*x._parts, x._capacitance_tril)


def _distance(p: Either, q: Either) -> Tensor:
    gap = q.loc - p.loc
    if isinstance(q, MultivariateNormal):
        return squared_length(q._unbroadcasted_scale_tril, gap)
    return lowrank_distance(*q._parts, gap, q._capacitance_tril)


def _sum(p: Either, q: Either, trace: Tensor, size: int) -> Tensor:
    """Put together, given the trace of q's precision times p's covariance."""
    return 0.5 * (_log_det(q) - _log_det(p) + trace + _distance(p, q) - size)


@register_kl(MultivariateNormal, MultivariateNormal)
def _full_full(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    size = _check(p, q, "")
    return _sum(p, q, _squares(_solved(q, p._unbroadcasted_scale_tril)), size)


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _low_full(p: LowRankMultivariateNormal, q: MultivariateNormal) -> Tensor:
    size, (w, d) = _check(p, q), p._parts
    diagonal = _squares(_solved(q, F.diag_embed(d.sqrt())))
    return _sum(p, q, _squares(_solved(q, w)) + diagonal, size)


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _full_low(p: MultivariateNormal, q: LowRankMultivariateNormal) -> Tensor:
    size, factor = _check(p, q), p._unbroadcasted_scale_tril
    scaled = factor * q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1)
    trace = _squares(scaled) - _squares(_reduced(q).matmul(factor))
    return _sum(p, q, trace, size)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _low_low(p: LowRankMultivariateNormal, q: LowRankMultivariateNormal) -> Tensor:
    size, (w, d), d_q = _check(p, q), p._parts, q._unbroadcasted_cov_diag
    reduced = _reduced(q)
    trace = (
        (d / d_q).sum(-1)
        + _squares(w * d_q.rsqrt().unsqueeze(-1))
        - _squares(reduced * d.sqrt().unsqueeze(-2))
        - _squares(reduced.matmul(w))
    )
    return _sum(p, q, trace, size)
