"""Bags of rows beside PyTorch: values, gradients, second gradients and refusals."""

from __future__ import annotations

from typing import Any

import pytest

from ..oracle import assert_same

MODES = ("sum", "mean", "max")
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"padding_idx": 1},
    {"padding_idx": -6},
    {"include_last_offset": True},
)


def table(t: Any) -> Any:
    return t.arange(18.0).reshape(6, 3).sin().requires_grad_()


def looked_up(t: Any) -> tuple[Any, Any]:
    return t.tensor([1, 2, 5, 4, 1, 0]), t.tensor([0, 2, 2, 6])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: ",".join(o) or "plain")
def test_bags_are_reduced_and_differentiated_as_in_pytorch(mode: str, options: Any):
    def program(t: Any) -> Any:
        weight = table(t)
        found = t.nn.functional.embedding_bag(
            looked_up(t)[0], weight, looked_up(t)[1], mode=mode, **options
        )
        (slope,) = t.autograd.grad((found**2).sum(), weight)
        return found, slope

    assert_same(program)


def test_weights_of_samples_have_gradients():
    def program(t: Any) -> Any:
        weight, (indices, offsets) = table(t), looked_up(t)
        factors = t.arange(6.0).requires_grad_()
        found = t.nn.functional.embedding_bag(
            indices, weight, offsets, mode="sum", per_sample_weights=factors
        )
        return found, t.autograd.grad((found**2).sum(), (weight, factors))

    assert_same(program)


def test_facts_about_the_bags_are_those_of_pytorch():
    def program(t: Any) -> Any:
        indices, offsets = looked_up(t)
        return t.embedding_bag(table(t).detach(), indices, offsets, False, 2)

    assert_same(program)


def refuse_an_index(t: Any) -> None:
    t.nn.functional.embedding_bag(t.tensor([1, 7]), table(t), t.tensor([0]))


def refuse_an_end_beyond(t: Any) -> None:
    t.nn.functional.embedding_bag(t.tensor([1, 2]), table(t), t.tensor([0, 3]))


def refuse_padding_outside(t: Any) -> None:
    at = t.tensor([1, 2])
    t.nn.functional.embedding_bag(at, table(t), t.tensor([0]), padding_idx=9)


def refuse_other_factors(t: Any) -> None:
    t.nn.functional.embedding_bag(
        t.tensor([1, 2]),
        table(t),
        t.tensor([0]),
        mode="sum",
        per_sample_weights=t.ones(3),
    )


REFUSALS = (
    refuse_an_index,
    refuse_an_end_beyond,
    refuse_padding_outside,
    refuse_other_factors,
)


@pytest.mark.parametrize("program", REFUSALS, ids=lambda p: p.__name__)
def test_refusals_are_those_of_pytorch(program: Any):
    assert_same(program)


def test_the_older_order_of_arguments_warns():
    def program(t: Any) -> Any:
        weight = table(t).detach()
        with pytest.warns(UserWarning, match="Argument order of"):
            return t.nn.functional.embedding_bag(weight, *looked_up(t))

    assert_same(program)
