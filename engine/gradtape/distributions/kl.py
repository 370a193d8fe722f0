"""Kullback-Leibler divergences: the registry, pairs of one family, pairs of normals.

Pairs of two families are in ``_kl_mixed``.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from .. import autograd, linalg
from .._common.site import user_stacklevel
from .._tensor.tensor import Tensor
from ._matrices import log_diagonal, squared_length
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    lowrank_distance,
    lowrank_logdet,
)
from .multivariate_normal import MultivariateNormal
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import EULER, F, sum_rightmost

Divergence = Callable[[Any, Any], Tensor]
Pair = tuple[type, type]
D = TypeVar("D", bound=Callable[..., Any])

_KL_REGISTRY: dict[Pair, Divergence] = {}
_KL_MEMOIZE: dict[Pair, Divergence | None] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[D], D]:
    """Decorate a function that computes KL(p || q) for two kinds of distributions.

    It also serves their subclasses, unless a closer pair is registered. Raises
    TypeError for what is no class; as in PyTorch, it may be one of another library.

    >>> import gradtape as torch
    >>> from gradtape.distributions import Normal, kl_divergence, register_kl
    >>> class MyNormal(Normal): ...
    >>> @register_kl(MyNormal, MyNormal)
    ... def divergence(p, q):
    ...     return torch.zeros(p.batch_shape)
    >>> kl_divergence(MyNormal(0.0, 1.0), MyNormal(5.0, 1.0))
    tensor(0.)
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"Expected {name} to be a Distribution subclass but got {kind}"
            )

    def register(function: D) -> D:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return register


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Return KL(p || q), the integral of p(x) log(p(x) / q(x)), over the batch.

    Raises NotImplementedError where nobody registered the pair.

    >>> import gradtape as torch
    >>> from gradtape.distributions import Normal, kl_divergence
    >>> kl_divergence(Normal(1.0, 1.0), Normal(0.0, 1.0))
    tensor(0.5000)
    """
    pair = type(p), type(q)
    if pair not in _KL_MEMOIZE:
        _KL_MEMOIZE[pair] = _closest(*pair)
    function = _KL_MEMOIZE[pair]
    if function is None:
        names = f"p type {type(p).__name__} and q type {type(q).__name__}"
        raise NotImplementedError(f"No KL(p || q) is implemented for {names}")
    return function(p, q)


def _closest(type_p: type, type_q: type) -> Divergence | None:
    """Return the function of the closest registered pair of superclasses."""
    order_p, order_q = type_p.__mro__, type_q.__mro__
    matches = [(p, q) for p, q in _KL_REGISTRY if p in order_p and q in order_q]
    if not matches:
        return None
    by_p = min(matches, key=lambda m: (order_p.index(m[0]), order_q.index(m[1])))
    by_q = min(matches, key=lambda m: (order_q.index(m[1]), order_p.index(m[0])))
    if _KL_REGISTRY[by_p] is not _KL_REGISTRY[by_q]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please "
            f"register_kl({by_p[0].__name__}, {by_q[1].__name__})",
            RuntimeWarning,
            stacklevel=user_stacklevel(),
        )
    return _KL_REGISTRY[by_p]


_LARGER_COUNT = (
    "KL between Binomials where q.total_count > p.total_count is not implemented"
)
_CROSS = (
    "The cross KL-divergence between different exponential families cannot"
    + " " * 29  # as PyTorch's sentence has it
    + "be computed using Bregman divergences"
)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    ones = p.probs * (F.softplus(-q.logits) - F.softplus(-p.logits))
    ones[q.probs == 0] = math.inf
    ones[p.probs == 0] = 0
    zeros = (1 - p.probs) * (F.softplus(q.logits) - F.softplus(p.logits))
    zeros[q.probs == 1] = math.inf
    zeros[p.probs == 1] = 0
    return ones + zeros


@register_kl(Beta, Beta)
def _beta(p: Beta, q: Beta) -> Tensor:
    total_p = p.concentration1 + p.concentration0
    total_q = q.concentration1 + q.concentration0
    norm_q = q.concentration1.lgamma() + q.concentration0.lgamma() + total_p.lgamma()
    norm_p = p.concentration1.lgamma() + p.concentration0.lgamma() + total_q.lgamma()
    return (
        norm_q
        - norm_p
        + (p.concentration1 - q.concentration1) * F.digamma(p.concentration1)
        + (p.concentration0 - q.concentration0) * F.digamma(p.concentration0)
        + (total_q - total_p) * F.digamma(total_p)
    )


@register_kl(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(_LARGER_COUNT)
    per_trial = (
        p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    )
    kl = p.total_count * per_trial
    kl[p.total_count > q.total_count] = math.inf
    return kl


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Tensor:
    t = p.probs * (p.logits - q.logits)
    t[(q.probs == 0).expand_as(t)] = math.inf
    t[(p.probs == 0).expand_as(t)] = 0
    return t.sum(-1)


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    """Chyzak and Nielsen, "A closed-form formula … between Cauchy" (2019)."""
    both = ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log()
    return both - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    norm_p = p._cont_bern_log_norm() + F.log1p(-p.probs)
    norm_q = q._cont_bern_log_norm() + F.log1p(-q.probs)
    return p.mean * (p.logits - q.logits) + norm_p - norm_q


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    total_p, total_q = p.concentration.sum(-1), q.concentration.sum(-1)
    gap = p.concentration - q.concentration
    log_mean = p.concentration.digamma() - total_p.digamma().unsqueeze(-1)
    return (
        total_p.lgamma()
        - total_q.lgamma()
        - (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
        + (gap * log_mean).sum(-1)
    )


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """Return the Bregman divergence of the log-normalizer."""
    if type(p) is not type(q):
        raise NotImplementedError(_CROSS)
    natural_p = [x.detach().requires_grad_() for x in p._natural_params]
    natural_q = q._natural_params
    normalizer = p._log_normalizer(*natural_p)
    slopes = autograd.grad(normalizer.sum(), natural_p, create_graph=True)
    result = q._log_normalizer(*natural_q) - normalizer
    for x, y, slope in zip(natural_p, natural_q, slopes, strict=True):
        result = result - sum_rightmost((y - x) * slope, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> Tensor:
    return (
        q.concentration * (p.rate / q.rate).log()
        + F.lgamma(q.concentration)
        - F.lgamma(p.concentration)
        + (p.concentration - q.concentration) * F.digamma(p.concentration)
        + (q.rate - p.rate) * (p.concentration / p.rate)
    )


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - F.log1p(-q.probs) / p.probs - q.logits


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, loc_q, loc_p = p.scale / q.scale, q.loc / q.scale, p.loc / q.scale
    moved = F.exp(loc_q + (1 + ratio).lgamma() - loc_p)
    return -ratio.log() - loc_q + loc_p + ratio * EULER + moved - (1 + EULER)


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    found = kl_divergence(p.base_dist, q.base_dist)
    return sum_rightmost(found, p.reinterpreted_batch_ndims)


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, gap = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + gap / q.scale + ratio * F.exp(-gap / p.scale) - 1


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    gap = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + gap - 1 - ratio.log())


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(Pareto, Pareto)
def _pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    result[p.scale < q.scale] = math.inf
    return result


@register_kl(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Tensor:
    """Return the divergence of the bases: one transform of both changes nothing."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    more = len(p.event_shape) - len(p.base_dist.event_shape)
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), more)


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    result[(q.low > p.low) | (q.high < p.high)] = math.inf
    return result


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
