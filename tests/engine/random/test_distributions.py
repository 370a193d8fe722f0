"""Distributions beside PyTorch's: text, moments, samples, probabilities, gradients."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import gradtape
import gradtape.distributions

from .._engines import needs_torch
from ..oracle import assert_same
from .distribution_cases import CASES, REFUSED

MOMENTS = ("mean", "mode", "variance", "stddev")
FACTS = (
    "batch_shape",
    "event_shape",
    "support",
    "has_rsample",
    "has_enumerate_support",
)

each_case = pytest.mark.parametrize("name", sorted(CASES))


def leaves(t: Any, distribution: Any) -> list[Any]:
    """Return the parameters that need gradients, wherever they are kept."""
    found: list[Any] = []
    seen: set[int] = set()

    def visit(value: Any) -> None:
        if id(value) in seen:
            return
        seen.add(id(value))
        if isinstance(value, t.Tensor):
            if value.requires_grad and value.is_leaf:
                found.append(value)
        elif isinstance(value, list):
            for each in value:
                visit(each)
        elif hasattr(value, "__dict__") and not isinstance(value, type):
            for key in sorted(vars(value)):
                if not key.startswith("_cached"):
                    visit(vars(value)[key])

    visit(distribution)
    return found


def attempt(call: Callable[[], Any]) -> Any:
    """Return what a call gives as plain data, or the type and text of its error."""
    try:
        value = call()
    except (NotImplementedError, ValueError) as error:
        return type(error).__name__, str(error).replace("gradtape", "torch")
    return [list(value.shape), value.tolist()] if hasattr(value, "tolist") else value


def built(t: Any, name: str) -> Any:
    t.manual_seed(7)
    return CASES[name](t, t.distributions)


def slopes(t: Any, distribution: Any, value: Any) -> Any:
    """Return the gradients of a sum in every parameter."""
    parameters = leaves(t, distribution)
    if not value.requires_grad:
        return None
    found = t.autograd.grad(value.sum(), parameters, allow_unused=True)
    return [None if g is None else g.tolist() for g in found]


@needs_torch
@each_case
def test_text_shapes_and_moments_match(name: str) -> None:
    def program(t: Any) -> Any:
        d = built(t, name)
        facts = [str(getattr(d, fact)) for fact in FACTS]
        moments = [attempt(lambda n=n: getattr(d, n)) for n in MOMENTS]
        rest = [attempt(d.entropy), attempt(d.perplexity), attempt(d.enumerate_support)]
        return repr(built(t, name)), facts, moments, rest

    assert_same(program, rtol=1e-4)


@needs_torch
@each_case
def test_samples_match(name: str) -> None:
    def program(t: Any) -> Any:
        d = built(t, name)
        return [attempt(lambda s=s: d.sample(s)) for s in ((), (3,), (2, 9))]

    assert_same(program, rtol=1e-4)


@needs_torch
@each_case
def test_reparametrized_samples_and_their_gradients_match(name: str) -> None:
    def program(t: Any) -> Any:
        d = built(t, name)
        if not d.has_rsample:
            return attempt(d.rsample)
        t.manual_seed(3)
        drawn = d.rsample((4,))
        return attempt(lambda: drawn), slopes(t, d, drawn * drawn)

    assert_same(program, rtol=2e-4)


@needs_torch
@each_case
def test_probabilities_and_their_gradients_match(name: str) -> None:
    def program(t: Any) -> Any:
        d = built(t, name)
        t.manual_seed(3)
        value = d.sample((4,))
        log_prob = d.log_prob(value)
        found = [attempt(lambda: log_prob), slopes(t, d, log_prob)]
        found.append(attempt(lambda: d.cdf(value)))
        shares = t.linspace(0.1, 0.9, 5).view((5, *[1] * len(d.batch_shape)))
        shares = shares.expand((5, *d.batch_shape))
        return [*found, attempt(lambda: d.icdf(shares)) if not d.event_shape else None]

    assert_same(program, rtol=1e-4)


@needs_torch
@each_case
def test_expanded_distributions_match(name: str) -> None:
    def program(t: Any) -> Any:
        d = built(t, name)
        wide = d.expand((2, *d.batch_shape))
        t.manual_seed(3)
        value = wide.sample()
        found = [attempt(lambda: value), attempt(lambda: wide.log_prob(value))]
        return repr(wide), [str(getattr(wide, f)) for f in FACTS], found

    assert_same(program, rtol=1e-4)


@needs_torch
@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refusals_match(name: str) -> None:
    def program(t: Any) -> Any:
        try:
            return str(REFUSED[name](t, t.distributions))
        except Exception as error:
            text = str(error).replace("gradtape", "torch")
            return type(error).__name__, text

    assert_same(program)


@pytest.mark.parametrize("name", ["bernoulli_number", "gumbel_numbers", "lkj_number"])
def test_copies_sample_alike(name: str) -> None:
    d = built(gradtape, name)
    gradtape.manual_seed(1)
    first = d.sample((3,))
    gradtape.manual_seed(1)
    assert copy.deepcopy(d).sample((3,)).tolist() == first.tolist()


def test_transforms_survive_pickling() -> None:
    d = gradtape.distributions
    both = d.ComposeTransform([d.ExpTransform(), d.AffineTransform(1.0, 2.0)])
    inverse = both.inv
    again = pickle.loads(pickle.dumps(both))
    x = gradtape.tensor([0.5])
    assert again == both
    assert again.inv(again(x)).tolist() == inverse(both(x)).tolist()


@needs_torch
def test_a_wrong_distribution_is_noticed() -> None:
    with pytest.raises(AssertionError):
        assert_same(
            lambda t: (
                t.distributions.Normal(0.0, 1.0 + (t is gradtape) / 1000)
                .log_prob(t.tensor(0.5))
                .tolist()
            )
        )


@pytest.mark.parametrize("logit", [-1e4, -50.0, 50.0, 1e4])
def test_continuous_bernoulli_of_large_logits_is_finite(logit: float) -> None:
    def program(t: Any) -> Any:
        logits = t.tensor([logit], requires_grad=True)
        found = t.distributions.ContinuousBernoulli(logits=logits)
        density = found.log_prob(t.tensor([0.0, 0.5, 1.0]))
        return [found.probs.detach(), density, t.autograd.grad(density.sum(), logits)]

    assert_same(program)


def test_wishart_of_whole_degrees() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        found = t.distributions.Wishart(t.tensor(3), t.eye(2))
        return [found.sample(), found.sample((3,)), found.log_prob(t.eye(2))]

    assert_same(program, rtol=1e-4)
