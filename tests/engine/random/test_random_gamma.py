"""Gamma, Dirichlet, Poisson and binomial samples, number for number PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradtape
from gradtape._random.counts import binomial, dirichlet, poisson, standard_gamma

from ..oracle import assert_same
from .generators import Pair, error_of, torch

KINDS = ("float32", "float64")


def spread(kind: str, scale: float, shape: tuple[int, ...] = (60, 4)) -> Any:
    """Return positive numbers of many orders of magnitude."""
    drawn = np.random.default_rng(5).normal(size=shape)
    return np.exp(drawn * scale).astype(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_gamma_samples_match(pair: Pair, kind: str) -> None:
    for scale in (0.5, 4.0):
        alpha = spread(kind, scale)
        reference = torch._standard_gamma(torch.tensor(alpha), pair.theirs)
        pair.check(standard_gamma(alpha, pair.ours), reference)


def test_gamma_samples_of_zero_and_negative_parameters_match(pair: Pair) -> None:
    alpha = np.array([0.0, -1.0, 1e-30, -0.5], np.float32)
    reference = torch._standard_gamma(torch.tensor(alpha), pair.theirs)
    pair.check(standard_gamma(alpha, pair.ours), reference)


def test_dirichlet_samples_match(pair: Pair) -> None:
    for scale in (0.5, 4.0):
        alpha = spread("float32", scale)
        reference = torch._sample_dirichlet(torch.tensor(alpha), pair.theirs)
        pair.check(dirichlet(alpha, pair.ours), reference)


@pytest.mark.parametrize("kind", [*KINDS, "float16"])
def test_poisson_counts_match(pair: Pair, kind: str) -> None:
    rates = spread(kind, 1.5)
    rates[0] = 0
    reference = torch.poisson(torch.tensor(rates), pair.theirs)
    pair.check(poisson(rates, pair.ours), reference)


@pytest.mark.parametrize("kind", KINDS)
def test_binomial_counts_match(pair: Pair, kind: str) -> None:
    counts = np.floor(spread(kind, 2.0) * 5)
    chances = np.random.default_rng(6).random(counts.shape).astype(kind)
    chances[0], chances[1] = 0, 1
    reference = torch.binomial(torch.tensor(counts), torch.tensor(chances), pair.theirs)
    pair.check(binomial(counts, chances, pair.ours), reference)


def test_many_samples_match_and_nothing_is_drawn_in_vain(pair: Pair) -> None:
    alpha = spread("float32", 1.5, (2000, 3))
    theirs, counts = torch.tensor(alpha), np.floor(alpha * 9)
    reference = torch._standard_gamma(theirs, pair.theirs)
    pair.check(standard_gamma(alpha, pair.ours), reference)
    pair.check(poisson(alpha, pair.ours), torch.poisson(theirs, pair.theirs))
    chances = np.full_like(counts, 0.3)
    reference = torch.binomial(torch.tensor(counts), torch.tensor(chances), pair.theirs)
    pair.check(binomial(counts, chances, pair.ours), reference)


def test_binomial_without_a_number_gives_none() -> None:
    nothing = binomial(np.array([np.nan, 3.0]), np.array([0.5, np.nan]))
    assert np.isnan(nothing).all()


@pytest.mark.parametrize("rate", [-1.0, np.nan])
def test_impossible_rates_are_refused_in_the_same_words(rate: float) -> None:
    mine = error_of(lambda: poisson(np.array([rate])))
    wanted = error_of(lambda: torch.poisson(torch.tensor([rate])))
    assert type(mine) is type(wanted)
    assert str(mine) == str(wanted)


# ---- slopes ----


@pytest.mark.parametrize("kind", KINDS)
def test_gamma_slopes_match_in_every_region(kind: str) -> None:
    alpha = spread(kind, 1.5, (4000,))
    for ratio in (0.01, 0.3, 0.95, 1.02, 1.2, 5.0):
        sample = (alpha * ratio).astype(kind)
        wanted = torch._standard_gamma_grad(torch.tensor(alpha), torch.tensor(sample))
        mine = gradtape._standard_gamma_grad(  # type: ignore[attr-defined]
            gradtape.tensor(alpha), gradtape.tensor(sample)
        )
        np.testing.assert_allclose(mine.numpy(), wanted.numpy(), 1e-5, 1e-9)


def test_dirichlet_slopes_match_in_every_region() -> None:
    alpha, rest = spread("float64", 2.0, (2, 20000))
    shares = np.random.default_rng(7).random(20000)
    near_mean = (alpha / (alpha + rest) * (0.9 + 0.2 * shares)).clip(0.001, 0.999)
    for x in (shares, near_mean):
        given = (x, alpha, alpha + rest)
        wanted = torch._dirichlet_grad(*map(torch.tensor, given))
        mine = gradtape._dirichlet_grad(  # type: ignore[attr-defined]
            *map(gradtape.tensor, given)
        )
        np.testing.assert_allclose(mine.numpy(), wanted.numpy(), 1e-9, 1e-12)


# ---- nodes and refusals ----


def _gamma_backward(t: Any) -> Any:
    t.manual_seed(0)
    alpha = t.tensor([0.5, 2.0, 9.0], requires_grad=True)
    sample = t._standard_gamma(alpha)
    (slope,) = t.autograd.grad(sample.sum(), alpha, create_graph=True)
    return sample, slope


def _gamma_twice(t: Any) -> Any:
    alpha = t.tensor([0.5, 2.0], requires_grad=True)
    t._standard_gamma_grad(alpha, alpha).sum().backward()


def _dirichlet_recorded(t: Any) -> Any:
    t.manual_seed(0)
    return t._sample_dirichlet(t.tensor([0.5, 2.0], requires_grad=True))


def _dirichlet_backward(t: Any) -> Any:
    _dirichlet_recorded(t).sum().backward()


def _dirichlet_grad_backward(t: Any) -> Any:
    alpha = t.tensor([0.5, 2.0], requires_grad=True)
    t._dirichlet_grad(alpha / 4, alpha, alpha + 1).sum().backward()


def _poisson_backward(t: Any) -> Any:
    t.manual_seed(0)
    rate = t.tensor([0.5, 20.0], requires_grad=True)
    count = t.poisson(rate)
    count.sum().backward()
    return count, rate.grad


def _binomial_recorded(t: Any) -> Any:
    t.manual_seed(0)
    chance = t.tensor([[0.5], [0.2]], requires_grad=True)
    return t.binomial(t.tensor([[4.0, 9.0], [30.0, 99.0]]), chance)


def _binomial_backward(t: Any) -> Any:
    chance = t.tensor([0.5], requires_grad=True)
    t.binomial(t.tensor([4.0]), chance).sum().backward()


def _gamma_of_integers(t: Any) -> Any:
    return t._standard_gamma(t.tensor([1]))


def _gamma_of_halves(t: Any) -> Any:
    return t._standard_gamma(t.ones(1, dtype=t.float16))


def _poisson_of_integers(t: Any) -> Any:
    return t.poisson(t.tensor([1]))


def _binomial_of_integers(t: Any) -> Any:
    return t.binomial(t.tensor([1]), t.tensor([0.5]))


def _binomial_of_two_types(t: Any) -> Any:
    return t.binomial(t.ones(1), t.ones(1, dtype=t.float64))


def _gamma_of_a_transposed_tensor(t: Any) -> Any:
    t.manual_seed(0)
    return t._standard_gamma(t.ones(3, 2).t())


@pytest.mark.parametrize(
    "program",
    [
        *(_gamma_backward, _gamma_twice, _dirichlet_recorded, _dirichlet_backward),
        *(_dirichlet_grad_backward, _poisson_backward, _binomial_recorded),
        *(_binomial_backward, _gamma_of_integers, _gamma_of_halves),
        *(_poisson_of_integers, _binomial_of_integers, _binomial_of_two_types),
        _gamma_of_a_transposed_tensor,
    ],
    ids=lambda program: program.__name__,
)
def test_graph_and_refusals_match(program: Any) -> None:
    assert_same(program)
