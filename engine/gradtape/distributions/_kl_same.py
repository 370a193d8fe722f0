"""Divergences of two distributions of one family, in the order of their names."""

from __future__ import annotations

import math
from typing import Any

from .. import autograd
from .._tensor.tensor import Tensor
from ._functions import F
from ._kl_registry import kl_divergence, register_kl
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import EULER, sum_rightmost

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
