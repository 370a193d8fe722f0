"""The gradient checker notices a formula that is wrong by a thousandth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradtape
from gradtape._define import OPS, Array, op
from gradtape._tensor import wrap

from ._gradcheck import gradient_errors, second_gradient_errors


@pytest.fixture
def leaf() -> Any:
    return wrap(np.linspace(0.5, 2.0, 6).reshape(2, 3)).requires_grad_()


def _cube(factor: float) -> Any:
    def kernel(xp: Any, self: Array) -> Any:
        return self * self * self

    formula = {"self": lambda F, grad, self: grad * (factor * self * self)}
    try:
        return op(formula, name="cube_of_the_checker", method=False, function=False)(
            kernel
        )
    finally:
        OPS.pop("cube_of_the_checker", None)


def test_a_right_formula_passes(leaf: Any):
    cube = _cube(3.0)
    assert list(gradient_errors(lambda: [cube(leaf)], [leaf])) == []
    assert list(second_gradient_errors(lambda: [cube(leaf)], [leaf])) == []


def test_a_formula_wrong_by_a_thousandth_is_named(leaf: Any):
    cube = _cube(3.003)
    errors = list(gradient_errors(lambda: [cube(leaf)], [leaf]))
    assert len(errors) == 1
    assert errors[0].startswith("d/d input 0[0, 0] is ")
    assert "should be roughly" in errors[0]


def test_a_second_derivative_wrong_by_more_is_named(leaf: Any):
    half_detached = lambda: [leaf.detach() * leaf * leaf]  # noqa: E731
    assert list(second_gradient_errors(half_detached, [leaf]))


def test_memory_is_as_before(leaf: Any):
    before = leaf._data.copy()
    list(gradient_errors(lambda: [gradtape.exp(leaf)], [leaf]))
    assert np.array_equal(leaf._data, before)
