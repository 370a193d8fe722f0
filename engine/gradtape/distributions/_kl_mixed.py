"""Divergences of distributions of two families, in the order of the first's name."""

from __future__ import annotations

import math
from typing import Any

from .._tensor.tensor import Tensor
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .continuous_bernoulli import ContinuousBernoulli
from .exponential import Exponential
from .gamma import Gamma
from .gumbel import Gumbel
from .kl import register_kl
from .laplace import Laplace
from .normal import Normal
from .pareto import Pareto
from .poisson import Poisson
from .uniform import Uniform
from .utils import EULER, F

# p's kind, the parameter of p in the result's shape, and every kind of q whose support
# leaves out a part of p's.
_INFINITE: tuple[tuple[Any, str, tuple[Any, ...]], ...] = (
    (Beta, "concentration1", (Pareto,)),
    (ContinuousBernoulli, "probs", (Pareto,)),
    (Exponential, "rate", (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Gamma, "concentration", (Beta, ContinuousBernoulli, Pareto, Uniform)),
    *(
        (
            kind,
            "loc",
            (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
        )
        for kind in (Gumbel, Laplace, Normal)
    ),
    (Pareto, "scale", (Beta, ContinuousBernoulli, Uniform)),
    (Poisson, "rate", (Bernoulli, Binomial)),
)


def _register_infinite(kind: Any, parameter: str, others: tuple[Any, ...]) -> None:
    def infinite(p: Any, q: Any) -> Tensor:
        return F.full_like(getattr(p, parameter), math.inf)

    for other in others:
        register_kl(kind, other)(infinite)


for _row in _INFINITE:
    _register_infinite(*_row)


def _x_log_x(x: Tensor) -> Tensor:
    return x * x.log()


def _log_norm(q: Gamma) -> Tensor:
    """Return the logarithm of what a gamma density is divided by."""
    return q.concentration.lgamma() - q.concentration * q.rate.log()


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


# ---- from (0, 1) ----


@register_kl(Beta, ContinuousBernoulli)
@register_kl(Uniform, ContinuousBernoulli)
def _to_continuous_bernoulli(p: Any, q: ContinuousBernoulli) -> Tensor:
    cross = p.mean * q.logits + F.log1p(-q.probs) + q._cont_bern_log_norm()
    result = -p.entropy() - cross
    if isinstance(p, Beta):
        return result
    outside = F.max(F.ge(p.high, 1.0), F.le(p.low, 0.0))
    return F.where(outside, F.full_like(result, math.inf), result)


@register_kl(Beta, Exponential)
@register_kl(ContinuousBernoulli, Exponential)
@register_kl(Gamma, Exponential)
def _to_exponential(p: Any, q: Exponential) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Beta, Gamma)
def _beta_gamma(p: Beta, q: Gamma) -> Tensor:
    total = p.concentration1 + p.concentration0
    log_mean = p.concentration1.digamma() - total.digamma()
    cross = _log_norm(q) - (q.concentration - 1) * log_mean + q.rate * p.mean
    return -p.entropy() + cross


@register_kl(Beta, Normal)
@register_kl(ContinuousBernoulli, Normal)
def _to_normal(p: Any, q: Normal) -> Tensor:
    square = p.variance + p.mean.pow(2) - 2.0 * q.loc * p.mean + q.loc.pow(2)
    norm = 0.5 * math.log(2.0 * math.pi) + q.scale.log()
    return -p.entropy() + norm + square / (2.0 * q.scale.pow(2))


@register_kl(Beta, Uniform)
def _beta_uniform(p: Beta, q: Uniform) -> Tensor:
    result = -p.entropy() + (q.high - q.low).log()
    result[(q.low > 0.0) | (q.high < 1.0)] = math.inf
    return result


@register_kl(ContinuousBernoulli, Uniform)
def _continuous_bernoulli_uniform(p: ContinuousBernoulli, q: Uniform) -> Tensor:
    result = -p.entropy() + (q.high - q.low).log()
    # Closed, as PyTorch has it: a uniform distribution on [0, 1] counts as outside.
    outside = F.max(F.ge(q.low, 0.0), F.le(q.high, 1.0))
    return F.where(outside, F.full_like(result, math.inf), result)


# ---- from above 0 ----


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Exponential, q: Gamma) -> Tensor:
    ratio = q.rate / p.rate
    cross = ratio + q.concentration.lgamma() - q.concentration * F.log(ratio)
    return cross + q.concentration * EULER - (1 + EULER)


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p: Exponential, q: Gumbel) -> Tensor:
    product, loc = p.rate * q.scale, q.loc / q.scale
    tail = F.exp(loc) * product / (product + 1)
    return product.log() - 1 - loc + tail + product.reciprocal()


@register_kl(Exponential, Normal)
def _exponential_normal(p: Exponential, q: Normal) -> Tensor:
    variance, square = q.scale.pow(2), p.rate.pow(2)
    norm = 0.5 * F.log(square * variance * 2 * math.pi)
    gap = square.reciprocal() - q.loc / p.rate + 0.5 * q.loc.pow(2)
    return norm - 1 + gap / variance


@register_kl(Gamma, Gumbel)
def _gamma_gumbel(p: Gamma, q: Gumbel) -> Tensor:
    product, loc, c = p.rate * q.scale, q.loc / q.scale, p.concentration
    own = (c - 1) * c.digamma() - c.lgamma() - c
    tail = F.exp(loc) * (1 + product.reciprocal()).pow(-c) - loc
    return own + F.log(product) + c / product + tail


@register_kl(Gamma, Normal)
def _gamma_normal(p: Gamma, q: Normal) -> Tensor:
    variance, square, c = q.scale.pow(2), p.rate.pow(2), p.concentration
    norm = 0.5 * F.log(square * variance * 2 * math.pi) - c - c.lgamma()
    gap = 0.5 * (c.pow(2) + c) / square - q.loc * c / p.rate + 0.5 * q.loc.pow(2)
    return norm + (c - 1) * c.digamma() + gap / variance


@register_kl(Pareto, Exponential)
def _pareto_exponential(p: Pareto, q: Exponential) -> Tensor:
    product = p.scale * q.rate
    mean = p.alpha * product / (p.alpha - 1)
    result = (p.alpha / product).log() - p.alpha.reciprocal() + mean - 1
    result[p.alpha <= 1] = math.inf
    return result


@register_kl(Pareto, Gamma)
def _pareto_gamma(p: Pareto, q: Gamma) -> Tensor:
    log_mean = p.scale.log() + p.alpha.reciprocal()
    mean = q.rate * p.alpha * p.scale / (p.alpha - 1)
    own = p.alpha.log() - log_mean
    result = own + _log_norm(q) + (1 - q.concentration) * log_mean + mean - 1
    result[p.alpha <= 1] = math.inf
    return result


@register_kl(Pareto, Normal)
def _pareto_normal(p: Pareto, q: Normal) -> Tensor:
    share = p.scale / (p.alpha - 1)
    norm = (math.sqrt(2 * math.pi) * q.scale * p.alpha / p.scale).log()
    spread = p.alpha * share.pow(2) / (p.alpha - 2) + (p.alpha * share - q.loc).pow(2)
    result = norm - p.alpha.reciprocal() + spread / (2 * q.scale.pow(2)) - 1
    result[p.alpha <= 2] = math.inf
    return result


# ---- from all numbers ----


@register_kl(Gumbel, Normal)
def _gumbel_normal(p: Gumbel, q: Normal) -> Tensor:
    ratio = p.scale / q.scale
    norm = (ratio / math.sqrt(2 * math.pi)).log()
    gap = ((p.loc + p.scale * EULER - q.loc) / q.scale).pow(2) * 0.5
    return -norm + (math.pi * ratio * 0.5).pow(2) / 3 + gap - (EULER + 1)


@register_kl(Laplace, Normal)
def _laplace_normal(p: Laplace, q: Normal) -> Tensor:
    variance = q.scale.pow(2)
    ratio = p.scale.pow(2) / variance
    gap = 0.5 * p.loc.pow(2) - p.loc * q.loc + 0.5 * q.loc.pow(2)
    return -0.5 * F.log(2 * ratio / math.pi) + ratio + gap / variance - 1


@register_kl(Normal, Gumbel)
def _normal_gumbel(p: Normal, q: Gumbel) -> Tensor:
    gap, ratio = (p.loc - q.loc) / q.scale, (p.scale / q.scale).pow(2)
    tail = F.exp(-gap + 0.5 * ratio)
    return -0.5 * ratio.log() + gap + tail - 0.5 * (1 + math.log(2 * math.pi))


@register_kl(Normal, Laplace)
def _normal_laplace(p: Normal, q: Laplace) -> Tensor:
    gap = p.loc - q.loc
    steps = gap / p.scale
    bell = math.sqrt(2 / math.pi) * p.scale * F.exp(-0.5 * steps.pow(2))
    away = bell + gap * F.erf(math.sqrt(0.5) * steps)
    own = (p.scale / q.scale).log() + 0.5 * (1 + math.log(0.5 * math.pi))
    return -own + away / q.scale


# ---- from an interval ----


@register_kl(Uniform, Beta)
def _uniform_beta(p: Uniform, q: Beta) -> Tensor:
    width = p.high - p.low
    one = _x_log_x(p.high) - _x_log_x(p.low) - width
    zero = _x_log_x(1 - p.high) - _x_log_x(1 - p.low) + width
    total = q.concentration1 + q.concentration0
    norm = q.concentration1.lgamma() + q.concentration0.lgamma() - total.lgamma()
    result = (
        (q.concentration0 - 1) * zero / width
        + norm
        - F.log(width)
        - (q.concentration1 - 1) * one / width
    )
    result[(p.high > 1.0) | (p.low < 0.0)] = math.inf
    return result


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Uniform, q: Exponential) -> Tensor:
    result = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    result[p.low < 0.0] = math.inf
    return result


@register_kl(Uniform, Gamma)
def _uniform_gamma(p: Uniform, q: Gamma) -> Tensor:
    width = p.high - p.low
    log_mean = (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    mean = q.rate * (p.high + p.low) / 2
    result = -width.log() + _log_norm(q) + (1 - q.concentration) * log_mean + mean
    result[p.low < 0.0] = math.inf
    return result


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p: Uniform, q: Gumbel) -> Tensor:
    ratio = q.scale / (p.high - p.low)
    high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    return ratio.log() + 0.5 * (high + low) - ratio * (F.exp(-high) - F.exp(-low))


@register_kl(Uniform, Normal)
def _uniform_normal(p: Uniform, q: Normal) -> Tensor:
    width = p.high - p.low
    norm = (math.sqrt(math.pi * 2) * q.scale / width).log()
    gap = ((p.high + p.low - 2 * q.loc) / 2).pow(2)
    return norm + 0.5 * (width.pow(2) / 12 + gap) / q.scale.pow(2)


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Uniform, q: Pareto) -> Tensor:
    width = p.high - p.low
    norm = (q.alpha * q.scale.pow(q.alpha) * width).log()
    log_mean = (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    result = log_mean * (q.alpha + 1) - norm
    result[p.low < q.scale] = math.inf
    return result
