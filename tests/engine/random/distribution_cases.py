"""Distributions to compare: each case builds one with either library's module."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Make = Callable[[Any, Any], Any]


def _matrix(t: Any) -> Any:
    return t.tensor([[2.0, 0.5], [0.5, 1.0]])


def _grad(t: Any, *values: Any) -> Any:
    return t.tensor(list(values), requires_grad=True)


CASES: dict[str, Make] = {
    "bernoulli": lambda t, d: d.Bernoulli(_grad(t, 0.2, 0.5, 0.9)),
    "bernoulli_logits": lambda t, d: d.Bernoulli(logits=_grad(t, -1.0, 0.0, 2.0)),
    "bernoulli_number": lambda t, d: d.Bernoulli(0.3),
    "beta": lambda t, d: d.Beta(_grad(t, 0.5, 2.0), _grad(t, 0.7, 3.0)),
    "beta_numbers": lambda t, d: d.Beta(1.0, 1.0),
    "binomial": lambda t, d: d.Binomial(5, _grad(t, 0.2, 0.7)),
    "binomial_counts": lambda t, d: d.Binomial(
        t.tensor([3.0, 60.0]), logits=_grad(t, 0.2, 0.7)
    ),
    "categorical": lambda t, d: d.Categorical(_grad(t, 1.0, 2.0, 3.0)),
    "categorical_logits": lambda t, d: d.Categorical(
        logits=t.tensor([[0.1, 0.2, -1.0], [1.0, 2.0, 3.0]], requires_grad=True)
    ),
    "cauchy": lambda t, d: d.Cauchy(_grad(t, 0.5, 1.0), 2.0),
    "chi2": lambda t, d: d.Chi2(_grad(t, 0.5, 4.0)),
    "continuous_bernoulli": lambda t, d: d.ContinuousBernoulli(
        _grad(t, 0.1, 0.4995, 0.8)
    ),
    "continuous_bernoulli_logits": lambda t, d: d.ContinuousBernoulli(
        logits=_grad(t, -1.0, 0.5)
    ),
    "dirichlet": lambda t, d: d.Dirichlet(_grad(t, 0.5, 1.5, 4.0)),
    "dirichlet_flat": lambda t, d: d.Dirichlet(t.tensor([[0.5, 0.6], [3.0, 1.0]])),
    "exponential": lambda t, d: d.Exponential(_grad(t, 0.5, 4.0)),
    "fisher_snedecor": lambda t, d: d.FisherSnedecor(_grad(t, 1.0, 5.0), 6.0),
    "gamma": lambda t, d: d.Gamma(_grad(t, 0.5, 4.0), _grad(t, 2.0, 3.0)),
    "generalized_pareto": lambda t, d: d.GeneralizedPareto(
        _grad(t, 0.0, 1.0, 2.0), 1.5, t.tensor([-0.5, 0.0, 0.3])
    ),
    "geometric": lambda t, d: d.Geometric(_grad(t, 0.2, 0.9)),
    "geometric_logits": lambda t, d: d.Geometric(logits=_grad(t, -0.2, 0.9)),
    "gumbel": lambda t, d: d.Gumbel(_grad(t, 0.5, 1.0), _grad(t, 2.0, 3.0)),
    "gumbel_numbers": lambda t, d: d.Gumbel(0.5, 2.0),
    "half_cauchy": lambda t, d: d.HalfCauchy(_grad(t, 2.0, 3.0)),
    "half_normal": lambda t, d: d.HalfNormal(_grad(t, 2.0, 3.0)),
    "independent": lambda t, d: d.Independent(
        d.Normal(t.zeros(2, 3, requires_grad=True), 2.0), 1
    ),
    "inverse_gamma": lambda t, d: d.InverseGamma(
        _grad(t, 1.5, 3.5), _grad(t, 1.0, 2.0)
    ),
    "kumaraswamy": lambda t, d: d.Kumaraswamy(_grad(t, 1.5, 2.0), _grad(t, 1.5, 3.0)),
    "laplace": lambda t, d: d.Laplace(_grad(t, 0.5, 1.0), _grad(t, 2.0, 3.0)),
    "lkj": lambda t, d: d.LKJCholesky(3, _grad(t, 1.5, 2.0)),
    "lkj_number": lambda t, d: d.LKJCholesky(2, 3.0),
    "log_normal": lambda t, d: d.LogNormal(_grad(t, 0.5, 1.0), _grad(t, 0.2, 0.3)),
    "logistic_normal": lambda t, d: d.LogisticNormal(
        _grad(t, 0.5, 1.0), t.tensor([0.2, 0.3])
    ),
    "low_rank": lambda t, d: d.LowRankMultivariateNormal(
        _grad(t, 0.5, 1.0), t.tensor([[1.0], [2.0]]), t.tensor([0.2, 0.3])
    ),
    "mixture": lambda t, d: d.MixtureSameFamily(
        d.Categorical(t.tensor([1.0, 3.0])), d.Normal(_grad(t, -1.0, 2.0), 0.5)
    ),
    "mixture_of_vectors": lambda t, d: d.MixtureSameFamily(
        d.Categorical(t.tensor([[1.0, 3.0], [2.0, 2.0]])),
        d.Independent(d.Normal(t.arange(12.0).view(2, 2, 3), 0.5), 1),
    ),
    "multinomial": lambda t, d: d.Multinomial(6, _grad(t, 1.0, 2.0, 3.0)),
    "multivariate_normal": lambda t, d: d.MultivariateNormal(
        _grad(t, 0.5, 1.0), _matrix(t)
    ),
    "multivariate_normal_precision": lambda t, d: d.MultivariateNormal(
        t.zeros(3, 2), precision_matrix=_matrix(t)
    ),
    "multivariate_normal_factor": lambda t, d: d.MultivariateNormal(
        t.zeros(2), scale_tril=_matrix(t).tril().expand(3, 2, 2)
    ),
    "negative_binomial": lambda t, d: d.NegativeBinomial(5, _grad(t, 0.2, 0.7)),
    "normal": lambda t, d: d.Normal(_grad(t, 0.5, 1.0), _grad(t, 2.0, 3.0)),
    "normal_numbers": lambda t, d: d.Normal(0, 1),
    "one_hot": lambda t, d: d.OneHotCategorical(_grad(t, 1.0, 2.0, 3.0)),
    "one_hot_straight_through": lambda t, d: d.OneHotCategoricalStraightThrough(
        logits=_grad(t, 1.0, 2.0, 3.0)
    ),
    "pareto": lambda t, d: d.Pareto(_grad(t, 1.0, 2.0), _grad(t, 2.5, 3.0)),
    "poisson": lambda t, d: d.Poisson(_grad(t, 0.5, 30.0)),
    "relaxed_bernoulli": lambda t, d: d.RelaxedBernoulli(
        t.tensor(0.7), _grad(t, 0.2, 0.7)
    ),
    "relaxed_one_hot": lambda t, d: d.RelaxedOneHotCategorical(
        t.tensor(0.7), logits=_grad(t, 0.2, 0.7, 1.0)
    ),
    "student_t": lambda t, d: d.StudentT(_grad(t, 0.5, 1.5, 4.0), 1.0, 2.0),
    "transformed": lambda t, d: d.TransformedDistribution(
        d.Normal(_grad(t, 0.5, 1.0), 0.5),
        [d.SigmoidTransform(), d.AffineTransform(1.0, -2.0)],
    ),
    "transformed_vector": lambda t, d: d.TransformedDistribution(
        d.Normal(t.zeros(3, 2), 1.0),
        [d.StickBreakingTransform(), d.AffineTransform(0.0, 2.0, event_dim=1)],
    ),
    "uniform": lambda t, d: d.Uniform(_grad(t, 0.5, -1.0), _grad(t, 2.0, 3.0)),
    "von_mises": lambda t, d: d.VonMises(_grad(t, 0.5, -1.0), t.tensor([0.5, 9.0])),
    "weibull": lambda t, d: d.Weibull(_grad(t, 1.0, 2.0), _grad(t, 2.5, 1.0)),
    "wishart": lambda t, d: d.Wishart(t.tensor([3.0, 4.5]), _matrix(t)),
    "wishart_factor": lambda t, d: d.Wishart(3, scale_tril=_matrix(t).tril()),
}

REFUSED: dict[str, Make] = {
    "negative_scale": lambda t, d: d.Normal(0.0, -1.0),
    "nan_loc": lambda t, d: d.Normal(t.tensor([0.0, math.nan]), 1.0),
    "half_cauchy_number": lambda t, d: d.HalfCauchy(1.0).log_prob(1),
    "half_normal_number": lambda t, d: d.HalfNormal(1.0).log_prob(1.0),
    "half_normal_double": lambda t, d: d.HalfNormal(1.0).log_prob(t.ones(1).double()),
    "size_as_number": lambda t, d: d.Normal(0.0, 1.0).sample(3),
    "negative_probs": lambda t, d: d.Categorical(t.tensor([-1.0, 2.0])),
    "no_parameter": lambda t, d: d.Bernoulli(),
    "two_parameters": lambda t, d: d.Bernoulli(0.1, 0.2),
    "scalar_classes": lambda t, d: d.Categorical(t.tensor(1.0)),
    "scalar_logits": lambda t, d: d.Categorical(logits=t.tensor(1.0)),
    "zero_probs": lambda t, d: d.Geometric(t.tensor([0.0, 0.5])),
    "counts": lambda t, d: d.Multinomial(t.tensor(3), t.ones(3)),
    "uniform_bounds": lambda t, d: d.Uniform(1.0, 0.0),
    "scalar_concentration": lambda t, d: d.Dirichlet(t.tensor(1.0)),
    "probs_above_1": lambda t, d: d.ContinuousBernoulli(1.5, validate_args=True),
    "scalar_loc": lambda t, d: d.MultivariateNormal(t.tensor(0.0), t.eye(2)),
    "no_matrix": lambda t, d: d.MultivariateNormal(t.zeros(2)),
    "flat_covariance": lambda t, d: d.MultivariateNormal(t.zeros(2), t.ones(2)),
    "flat_factor": lambda t, d: d.MultivariateNormal(t.zeros(2), scale_tril=t.ones(2)),
    "indefinite": lambda t, d: d.MultivariateNormal(t.zeros(2), -t.eye(2)),
    "low_rank_loc": lambda t, d: d.LowRankMultivariateNormal(
        t.tensor(0.0), t.ones(2, 1), t.ones(2)
    ),
    "low_rank_factor": lambda t, d: d.LowRankMultivariateNormal(
        t.zeros(2), t.ones(3, 1), t.ones(2)
    ),
    "low_rank_diagonal": lambda t, d: d.LowRankMultivariateNormal(
        t.zeros(2), t.ones(2, 1), t.ones(3)
    ),
    "low_df": lambda t, d: d.Wishart(t.tensor(1.0), t.eye(2)),
    "flat_wishart": lambda t, d: d.Wishart(3.0, t.ones(2)),
    "no_wishart_matrix": lambda t, d: d.Wishart(3.0),
    "one_variable": lambda t, d: d.LKJCholesky(1),
    "independent_of_too_much": lambda t, d: d.Independent(d.Normal(t.zeros(2), 1.0), 2),
    "no_transform": lambda t, d: d.TransformedDistribution(d.Normal(0.0, 1.0), 3),
    "no_transforms": lambda t, d: d.TransformedDistribution(d.Normal(0.0, 1.0), [3]),
    "scalar_softmax": lambda t, d: d.TransformedDistribution(
        d.Normal(0.0, 1.0), d.SoftmaxTransform()
    ),
    "mixture_of_normals": lambda t, d: d.MixtureSameFamily(
        d.Normal(0.0, 1.0), d.Normal(t.zeros(2), 1.0)
    ),
    "mixture_of_nothing": lambda t, d: d.MixtureSameFamily(d.Categorical(t.ones(2)), 3),
    "mixture_of_another_size": lambda t, d: d.MixtureSameFamily(
        d.Categorical(t.ones(2)), d.Normal(t.zeros(3), 1.0)
    ),
    "mixture_of_another_batch": lambda t, d: d.MixtureSameFamily(
        d.Categorical(t.ones(2, 2)), d.Normal(t.zeros(3, 2), 1.0)
    ),
    "not_a_number": lambda t, d: d.utils.broadcast_all("a", 1),
    "log_prob_of_number": lambda t, d: d.Normal(0, 1).log_prob(1),
    "log_prob_outside": lambda t, d: d.Bernoulli(0.5).log_prob(t.tensor(0.5)),
    "log_prob_of_other_event": lambda t, d: d.Dirichlet(t.ones(3)).log_prob(t.ones(4)),
    "log_prob_of_other_batch": lambda t, d: d.Normal(t.zeros(2), 1).log_prob(t.ones(3)),
    "no_expansion": lambda t, d: type(
        "Own", (d.Normal,), {"__init__": lambda self: d.Normal.__init__(self, 0.0, 1.0)}
    )().expand([2]),
    "nothing_defined": lambda t, d: d.Distribution(validate_args=False).mean,
    "no_mode": lambda t, d: d.ContinuousBernoulli(0.2).mode.size(5),
    "no_divergence": lambda t, d: d.kl_divergence(
        d.Normal(0.0, 1.0), d.Cauchy(0.0, 1.0)
    ),
    "default_checks": lambda t, d: d.Distribution.set_default_validate_args(3),
    "outside_triangle": lambda t, d: d.utils.tril_matrix_to_vec(t.ones(2, 2), 3),
    "product_of_supports": lambda t, d: d.Independent(
        d.Bernoulli(t.ones(2) / 2), 1
    ).enumerate_support(),
}
