"""Transforms, constraints, their registries and divergences beside PyTorch's."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

import gradtape
import gradtape.distributions

from .._engines import needs_torch
from ..oracle import assert_same

TRANSFORMS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "abs": (lambda d: d.AbsTransform(), (3,)),
    "affine": (lambda d: d.AffineTransform(1.0, -2.0), (3,)),
    "affine_event": (lambda d: d.AffineTransform(1.0, 2.0, event_dim=1), (2, 3)),
    "cat": (
        lambda d: d.CatTransform([d.ExpTransform(), d.TanhTransform()], 0, [1, 2]),
        (3,),
    ),
    "compose": (
        lambda d: d.ComposeTransform([d.ExpTransform(), d.AffineTransform(1.0, 2.0)]),
        (3,),
    ),
    "compose_vectors": (
        lambda d: d.ComposeTransform(
            [d.AffineTransform(1.0, 2.0), d.StickBreakingTransform()]
        ),
        (2, 3),
    ),
    "corr_cholesky": (lambda d: d.CorrCholeskyTransform(), (2, 6)),
    "cumulative": (
        lambda d: d.CumulativeDistributionTransform(d.Normal(0.0, 2.0)),
        (3,),
    ),
    "exp": (lambda d: d.ExpTransform(), (3,)),
    "identity": (lambda d: d.identity_transform, (3,)),
    "independent": (lambda d: d.IndependentTransform(d.ExpTransform(), 1), (2, 3)),
    "lower_cholesky": (lambda d: d.LowerCholeskyTransform(), (2, 3, 3)),
    "positive_definite": (lambda d: d.PositiveDefiniteTransform(), (2, 3, 3)),
    "power": (lambda d: d.PowerTransform(2.0), (3,)),
    "reshape": (lambda d: d.ReshapeTransform((2, 3), (6,)), (4, 2, 3)),
    "sigmoid": (lambda d: d.SigmoidTransform(), (3,)),
    "softmax": (lambda d: d.SoftmaxTransform(), (2, 3)),
    "softplus": (lambda d: d.SoftplusTransform(), (3,)),
    "stack": (
        lambda d: d.StackTransform([d.ExpTransform(), d.TanhTransform()], 1),
        (3, 2),
    ),
    "stick_breaking": (lambda d: d.StickBreakingTransform(), (2, 3)),
    "tanh": (lambda d: d.TanhTransform(), (3,)),
}

SHAPES = ((), (1,), (2,), (3,), (5,), (2, 3), (3, 3), (6,))


def attempt(call: Callable[[], Any]) -> Any:
    try:
        value = call()
    except (NotImplementedError, ValueError, AssertionError) as error:
        return type(error).__name__, str(error)
    return value.tolist() if hasattr(value, "tolist") else value


@needs_torch
@pytest.mark.parametrize("cache", [0, 1])
@pytest.mark.parametrize("name", sorted(TRANSFORMS))
def test_transforms_match(name: str, cache: int) -> None:
    make, shape = TRANSFORMS[name]

    def program(t: Any) -> Any:
        transform = make(t.distributions).with_cache(cache)
        t.manual_seed(1)
        x = (t.rand(shape) + 0.1).requires_grad_()
        y = transform(x)
        back = transform.inv(y)
        facts = [transform.domain, transform.codomain, transform.bijective]
        found = [attempt(lambda: y), attempt(lambda: back), repr(transform.inv)]
        found.append(attempt(lambda: transform.log_abs_det_jacobian(x, y)))
        found.append(attempt(lambda: transform.inv.log_abs_det_jacobian(y, x)))
        found.append(attempt(lambda: transform.sign))
        (slope,) = t.autograd.grad((y * y * y).sum(), x)
        return list(map(str, facts)), repr(transform), found, slope.tolist(), back is x

    assert_same(program, rtol=1e-4)


@needs_torch
@pytest.mark.parametrize("name", sorted(TRANSFORMS))
def test_shapes_through_transforms_match(name: str) -> None:
    def program(t: Any) -> Any:
        transform = TRANSFORMS[name][0](t.distributions)
        both = (transform.forward_shape, transform.inverse_shape)
        found = [attempt(lambda f=f, s=s: f(s)) for f in both for s in SHAPES]
        return [list(f) if isinstance(f, tuple) else str(f) for f in found]

    assert_same(program)


@needs_torch
def test_equality_of_transforms_matches() -> None:
    def program(t: Any) -> Any:
        d = t.distributions
        made = [make(d) for make, _ in TRANSFORMS.values()]
        again = [make(d) for make, _ in TRANSFORMS.values()]
        pairs = itertools.product(made, again)
        return [a == b for a, b in pairs], [a.inv == b.inv for a, b in pairs]

    assert_same(program)


CONSTRAINTS: dict[str, Callable[[Any], Any]] = {
    **{
        name: lambda c, name=name: getattr(c, name)
        for name in (
            *("boolean", "corr_cholesky", "lower_cholesky", "lower_triangular"),
            *("nonnegative", "nonnegative_integer", "one_hot", "positive", "simplex"),
            *("positive_definite", "positive_integer", "positive_semidefinite", "real"),
            *("real_vector", "square", "symmetric", "unit_interval", "dependent"),
        )
    },
    "cat": lambda c: c.cat([c.positive, c.real], 0, [1, 1]),
    "greater_than": lambda c: c.greater_than(0.5),
    "greater_than_eq": lambda c: c.greater_than_eq(1),
    "half_open_interval": lambda c: c.half_open_interval(0.0, 1.0),
    "independent": lambda c: c.independent(c.positive, 1),
    "integer_interval": lambda c: c.integer_interval(0, 2),
    "interval": lambda c: c.interval(-1.0, 2.0),
    "less_than": lambda c: c.less_than(1.0),
    "mixture": lambda c: c.MixtureSameFamilyConstraint(c.simplex),
    "multinomial": lambda c: c.multinomial(2),
    "stack": lambda c: c.stack([c.positive, c.real], 0),
}
VALUES = (
    [[1.0, 0.0], [0.0, 1.0]],
    [[1.0, 0.5], [0.5, 1.0]],
    [[1.0, 0.0], [0.6, 0.8]],
    [[-1.0, 2.0], [0.5, float("nan")]],
)


@needs_torch
@pytest.mark.parametrize("name", sorted(CONSTRAINTS))
def test_constraints_and_transforms_onto_them_match(name: str) -> None:
    def program(t: Any) -> Any:
        d = t.distributions
        constraint = CONSTRAINTS[name](d.constraints)
        checks = [attempt(lambda v=v: constraint.check(t.tensor(v))) for v in VALUES]
        facts = [attempt(lambda f=f: getattr(constraint, f)) for f in FACTS]
        onto = [
            attempt(lambda r=r: repr(r(constraint)))
            for r in (d.biject_to, d.transform_to)
        ]
        return repr(constraint), checks, facts, onto

    assert_same(program)


FACTS = ("is_discrete", "event_dim")


# ---- divergences ----

FAMILIES: dict[str, Callable[[Any, Any], Any]] = {
    "bernoulli": lambda t, d: d.Bernoulli(t.tensor([0.2, 0.7, 0.0, 1.0])),
    "bernoulli_half": lambda t, d: d.Bernoulli(t.tensor([0.5, 0.1, 0.4, 0.3])),
    "beta": lambda t, d: d.Beta(t.tensor([0.5, 2.0]), t.tensor([1.5, 3.0])),
    "binomial": lambda t, d: d.Binomial(t.tensor([4.0]), t.tensor([0.3])),
    "binomial_3": lambda t, d: d.Binomial(t.tensor([3.0]), t.tensor([0.6])),
    "categorical": lambda t, d: d.Categorical(t.tensor([0.3, 0.7, 0.0])),
    "categorical_2": lambda t, d: d.Categorical(t.tensor([[0.3, 0.2, 0.5], [1, 0, 0]])),
    "cauchy": lambda t, d: d.Cauchy(t.tensor([0.5, 2.0]), 2.0),
    "continuous_bernoulli": lambda t, d: d.ContinuousBernoulli(t.tensor([0.2, 0.5])),
    "dirichlet": lambda t, d: d.Dirichlet(t.tensor([0.5, 2.0, 1.0])),
    "dirichlet_2": lambda t, d: d.Dirichlet(t.tensor([1.5, 1.0, 4.0])),
    "exponential": lambda t, d: d.Exponential(t.tensor([0.5, 2.0])),
    "gamma": lambda t, d: d.Gamma(t.tensor([0.5, 2.0]), t.tensor([1.5, 3.0])),
    "chi2": lambda t, d: d.Chi2(t.tensor([0.5, 2.0])),
    "geometric": lambda t, d: d.Geometric(t.tensor([0.5, 0.2])),
    "gumbel": lambda t, d: d.Gumbel(t.tensor([0.5, 0.2]), t.tensor([1.5, 3.0])),
    "half_normal": lambda t, d: d.HalfNormal(t.tensor([0.5, 2.0])),
    "independent": lambda t, d: d.Independent(d.Normal(t.ones(2), 2.0), 1),
    "independent_2": lambda t, d: d.Independent(d.Normal(t.zeros(2), 1.0), 1),
    "laplace": lambda t, d: d.Laplace(t.tensor([0.5, 0.2]), t.tensor([1.5, 3.0])),
    "log_normal": lambda t, d: d.LogNormal(t.tensor([0.5, 0.2]), 0.7),
    "low_rank": lambda t, d: d.LowRankMultivariateNormal(
        t.tensor([0.5, 0.2]), t.tensor([[1.0], [0.5]]), t.tensor([0.3, 0.4])
    ),
    "multivariate": lambda t, d: d.MultivariateNormal(
        t.tensor([0.1, 0.2]), t.tensor([[2.0, 0.5], [0.5, 1.0]])
    ),
    "multivariate_3": lambda t, d: d.MultivariateNormal(t.zeros(3), t.eye(3)),
    "normal": lambda t, d: d.Normal(t.tensor([0.5, 0.2]), t.tensor([1.5, 3.0])),
    "one_hot": lambda t, d: d.OneHotCategorical(t.tensor([0.3, 0.7])),
    "pareto": lambda t, d: d.Pareto(t.tensor([0.5, 0.2]), t.tensor([1.5, 3.0])),
    "poisson": lambda t, d: d.Poisson(t.tensor([0.5, 2.0])),
    "uniform": lambda t, d: d.Uniform(t.tensor([0.1, -1.0]), t.tensor([0.9, 3.0])),
    "uniform_wide": lambda t, d: d.Uniform(t.tensor([-2.0, 0.3]), t.tensor([4.0, 0.5])),
    "wishart": lambda t, d: d.Wishart(t.tensor(3.0), t.eye(2)),
}


@needs_torch
@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_divergences_match(name: str) -> None:
    def program(t: Any) -> Any:
        d = t.distributions
        p = FAMILIES[name](t, d)

        def divergence(other: str) -> Any:
            return d.kl_divergence(p, FAMILIES[other](t, d)).tolist()

        found: dict[str, Any] = {}
        for other in FAMILIES:
            try:
                found[other] = divergence(other)
            except (NotImplementedError, ValueError) as error:
                found[other] = type(error).__name__, str(error)
            except (RuntimeError, IndexError) as error:  # shapes that do not meet
                found[other] = type(error).__name__
        return found

    assert_same(program, rtol=1e-4)


@needs_torch
@pytest.mark.parametrize(
    "name", ["beta", "dirichlet", "gamma", "normal", "bernoulli_half"]
)
def test_entropy_and_divergence_of_exponential_families_match(name: str) -> None:
    def program(t: Any) -> Any:
        d = t.distributions
        p = FAMILIES[name](t, d)
        base = d.exp_family.ExponentialFamily
        general = d.kl._kl_expfamily_expfamily(p, FAMILIES[name](t, d))
        return attempt(lambda: base.entropy(p).tolist()), general.tolist()

    assert_same(program, rtol=1e-4)


def test_registered_divergences_serve_subclasses() -> None:
    d = gradtape.distributions

    class Mine(d.Normal):
        pass

    p, q = Mine(0.0, 1.0), Mine(1.0, 1.0)
    assert d.kl_divergence(p, q).item() == pytest.approx(0.5)

    @d.register_kl(Mine, d.Normal)
    def _mine(p: Any, q: Any) -> Any:
        return gradtape.tensor(7.0)

    assert d.kl_divergence(p, q).item() == 7.0
    with pytest.raises(
        TypeError, match="Expected type_p to be a Distribution subclass"
    ):
        d.register_kl(3, d.Normal)


def test_divergences_may_be_registered_for_classes_of_other_libraries() -> None:
    def program(t: Any) -> bool:
        return callable(t.distributions.register_kl(int, t.distributions.Normal))

    assert_same(program)


def test_lazy_properties_are_computed_once() -> None:
    d = gradtape.distributions
    coin = d.Bernoulli(gradtape.tensor([0.5]))
    assert coin.logits is coin.logits
    assert isinstance(d.Bernoulli.logits, property)
