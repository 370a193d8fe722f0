"""Products of numbers near zero are computed in float64, where they are ordinary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradtape as gt
from gradtape.ops._kernels.denormals import FAINT, MANY, minds, multiply

torch = pytest.importorskip("torch")

QUANTUM = 2.0**-149
"""What denormal numbers of float32 are multiples of."""


@pytest.fixture(autouse=True)
def slow_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the processor be one that takes long for denormal numbers."""
    monkeypatch.setattr(minds, "measured", True)


PROGRAMS: dict[str, Callable[..., Any]] = {
    "mm": lambda t, a, b: t.mm(a, b),
    "mm of a transposed": lambda t, a, b: t.mm(a.t().contiguous().t(), b),
    "addmm": lambda t, a, b: t.addmm(t.zeros(b.shape[1]), a, b),
    "addmm of a matrix": lambda t, a, b: t.addmm(t.zeros(a.shape[0], 1), a, b),
    "linear": lambda t, a, b: t.nn.functional.linear(a, b.t()),
    "bmm": lambda t, a, b: t.bmm(a.expand(2, *a.shape), b.expand(2, *b.shape)),
    "matmul": lambda t, a, b: a.expand(3, 2, *a.shape) @ b,
}


def matrices(scale: float) -> tuple[Any, Any]:
    draw = np.random.default_rng(0)
    left = (draw.standard_normal((60, 64)) * scale).astype("float32")
    return left, draw.standard_normal((64, 80)).astype("float32")


@pytest.mark.parametrize("scale", [1e-36, 1e-38, 1e-41, 1e-44])
@pytest.mark.parametrize("name", PROGRAMS)
def test_vanishing_products_are_those_of_pytorch(name: str, scale: float) -> None:
    arrays = matrices(scale)
    ours = PROGRAMS[name](gt, *map(gt.from_numpy, arrays)).numpy()
    theirs = PROGRAMS[name](torch, *map(torch.from_numpy, arrays)).numpy()
    assert ours.dtype == np.float32
    assert ours.shape == theirs.shape
    exact = np.matmul(*[a.astype("float64") for a in arrays])
    off = np.abs(ours - exact)
    assert off.max() <= QUANTUM / 2 + 1e-6 * np.abs(exact).max()
    slack = 64 * QUANTUM + 1e-5 * np.abs(exact).max()  # a rounding for each term
    assert np.abs(ours - theirs).max() <= slack
    assert np.any(ours)


def kinds_used(left: Any, right: Any) -> set[str]:
    used: set[str] = set()

    def dot(a: Any, b: Any) -> Any:
        used.add(a.dtype.name)
        return np.dot(a, b)

    assert multiply(dot, left, right).dtype == left.dtype
    return used


def test_only_faint_products_are_computed_in_double() -> None:
    left, right = matrices(1.0)
    assert left.size * right.shape[1] >= MANY
    assert kinds_used(left, right) == {"float32"}
    assert kinds_used(left * np.float32(1e-39), right) == {"float64"}
    assert kinds_used(left, right * np.float32(1e-39)) == {"float64"}
    roots = np.float32(FAINT**0.5 / 10)  # two that are faint together
    assert kinds_used(left * roots, right * roots) == {"float64"}
    assert kinds_used(left * roots, right) == {"float32"}
    assert kinds_used(left * 0, right) == {"float32"}
    assert kinds_used(left * np.float32("nan"), right) == {"float32"}
    few = left[:4] * np.float32(1e-39), right[:, :4]
    assert kinds_used(*few) == {"float32"}
    assert kinds_used(left.astype("float16"), right.astype("float16")) == {"float16"}


def test_a_processor_that_does_not_mind_multiplies_them_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left, right = matrices(1e-39)
    monkeypatch.setattr(minds, "measured", False)
    assert kinds_used(left, right) == {"float32"}


def test_the_first_large_product_asks_the_processor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(minds, "measured", None)
    left, right = matrices(1e-39)
    kinds_used(left[:4], right[:, :4])
    assert minds.measured is None
    assert kinds_used(left, right) == {"float64" if minds.measured else "float32"}


def test_measuring_the_processor_raises_no_floating_point_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(minds, "measured", None)
    with np.errstate(all="raise"):
        minds.denormals()
    assert minds.measured is not None


def test_rows_of_padding_do_not_hide_the_rest() -> None:
    left, right = matrices(1e-39)
    left[:3], left[-3:] = 0, 0
    left[:, :5], left[:, -5:] = 0, 0
    assert kinds_used(left, right) == {"float64"}


def test_the_gradient_of_a_long_sequence_vanishes_as_in_pytorch() -> None:
    def gradients(t: Any) -> list[Any]:
        t.manual_seed(0)
        weight = (t.randn(64, 64) / 32).requires_grad_()
        states = [t.randn(64, 64, requires_grad=True)]
        for _ in range(90):
            states.append(t.tanh(states[-1]) @ weight)
            states[-1].retain_grad()
        states[-1].sum().backward()
        return [weight.grad.numpy(), *(s.grad.numpy() for s in states)]

    for ours, theirs in zip(gradients(gt), gradients(torch), strict=True):
        np.testing.assert_allclose(
            ours, theirs, rtol=1e-3, atol=1e4 * QUANTUM + 1e-5 * np.abs(theirs).max()
        )
