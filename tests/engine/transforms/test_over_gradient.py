"""A large gradient is overwritten where nobody else knows it, and only there."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import numpy as np
import pytest

import gradtape
from gradtape._dispatch import declare as _define
from gradtape._dispatch.declare import OPS
from gradtape._engine import backward
from gradtape._engine.backward import may_overwrite
from gradtape._graph.op import formula_text
from gradtape.ops._support import reuse_gradient as _over_gradient

torch = pytest.importorskip("torch")

SIZE = 64, 32  # more elements than LARGE


def both(program: Any) -> None:
    """Compare all that a program returns, run on either engine."""
    results = [program(t) for t in (gradtape, torch)]
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=2e-5, atol=2e-5)


def inputs(t: Any, count: int) -> list[Any]:
    values = np.random.default_rng(0).uniform(0.5, 2.0, (count, *SIZE))
    return [t.tensor(v.astype("float32"), requires_grad=True) for v in values]


@pytest.fixture
def overwritten(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the gradients that formulas were allowed to write over."""
    found: list[int] = []

    def counting(array: Any) -> bool:
        allowed = may_overwrite(array)
        found.append(array.ctypes.data if allowed else 0)
        return allowed

    # The compiled form has taken the function that is replaced here.
    walk = inspect.unwrap(backward._walk)
    monkeypatch.setattr("gradtape._engine.backward._walk", walk)
    monkeypatch.setattr("gradtape._engine.backward.may_overwrite", counting)
    for cause in ("ever_packed", "renumbered"):  # what other tests may have left
        monkeypatch.setattr(f"gradtape._engine.backward.{cause}", [])
    monkeypatch.setattr("gradtape._engine.backward.suspicious", lambda: False)
    return found


@pytest.mark.parametrize("last", [lambda t, y: y, lambda t, y: t.nn.functional.gelu(y)])
def test_a_chain_stays_in_one_buffer(overwritten: list[int], last: Any) -> None:
    def program(t: Any) -> list[Any]:
        x, scale = inputs(t, 2)
        scale.requires_grad_(False)
        y = x
        for _ in range(4):
            y = last(t, y) * scale + 1
        y.sum().backward()
        return [x.grad]

    both(program)
    assert len(set(filter(None, overwritten))) == 1
    assert sum(map(bool, overwritten)) >= 6


@pytest.mark.parametrize(
    "apply",
    [
        lambda t, x, y: (x * y) * (x * y).exp(),
        lambda t, x, y: (x / y) / (x + y),
        lambda t, x, y: t.relu(x - y) * x + t.relu(y - x) * y,
        lambda t, x, y: (x + y) * (x - y) / (x * x + y),
        lambda t, x, y: (x * y[:, :1]) / y[0],
        lambda t, x, y: (x + x) * (y * 3.0) / 2,
        lambda t, x, y: t.sigmoid(x * y) * t.tanh(x / y),
    ],
)
def test_many_users_of_a_value(apply: Any) -> None:
    def program(t: Any) -> list[Any]:
        x, y = inputs(t, 2)
        value = apply(t, x * 1.5, y * 0.5)
        (value * value).mean().backward()
        return [x.grad, y.grad]

    both(program)


def test_a_sum_that_hands_its_gradient_to_two_products() -> None:
    def program(t: Any) -> list[Any]:
        x, y, scale = inputs(t, 3)
        ((x * scale + y * scale) * scale).sum().backward()
        return [x.grad, y.grad, scale.grad]

    both(program)


def test_gradients_of_parts_need_no_zeros(
    monkeypatch: pytest.MonkeyPatch, overwritten: list[int]
) -> None:
    made: list[Any] = []
    spaces = _define._numpy_ops, _define._owning_ops
    for space, name in itertools.product(spaces, ("select_backward", "slice_backward")):
        kernel = getattr(space, name)
        monkeypatch.setattr(
            space, name, lambda *args, run=kernel: made.append(args) or run(*args)
        )
    x = gradtape.zeros(3, *SIZE, requires_grad=True)
    y = x * 2.0
    (y[0] * y[1] * y[2] + y[:, 1:].sum()).sum().backward()
    assert overwritten
    assert len(made) == 1  # where nothing had arrived yet


def test_what_a_hook_keeps_stays_as_it_was() -> None:
    def program(t: Any) -> list[Any]:
        x, scale = inputs(t, 2)
        kept: list[Any] = []
        y = x * scale
        y.register_hook(lambda grad: kept.append(grad))
        z = y * scale
        z.retain_grad()
        (z * scale * scale).sum().backward()
        return [x.grad, z.grad, *kept]

    both(program)


def test_the_gradient_that_a_user_hands_in_stays_as_it_was() -> None:
    def program(t: Any) -> list[Any]:
        x, scale = inputs(t, 2)
        given = t.ones(SIZE)
        (x * scale).backward(given)
        return [x.grad, given]

    both(program)


def test_what_a_function_keeps_of_its_gradient() -> None:
    def program(t: Any) -> list[Any]:
        kept: list[Any] = []

        class Same(t.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x.clone()

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                kept.append(grad)
                return grad

        x, scale = inputs(t, 2)
        (Same.apply(x * scale * scale) * scale * scale).sum().backward()
        return [x.grad, *kept]

    both(program)


def test_a_graph_can_be_used_twice() -> None:
    def program(t: Any) -> list[Any]:
        x, scale = inputs(t, 2)
        value = (x * scale).exp() / scale
        value.sum().backward(retain_graph=True)
        value.sum().backward()
        return [x.grad, scale.grad]

    both(program)


def test_anomaly_mode_finds_where_nan_arises() -> None:
    x = inputs(gradtape, 1)[0]
    with gradtape.autograd.set_detect_anomaly(True):
        y = x * 1.0
        z = (y / 0.0) * 0.0
        with pytest.raises(RuntimeError, match="MulBackward0"):
            (z * z).sum().backward()


def test_operands_that_do_not_fit() -> None:
    grad = np.ones(SIZE, "float32")
    wide, outer = np.ones(SIZE), np.ones((2, *SIZE), "float32")
    assert _over_gradient.times(grad, wide).dtype == np.float64
    assert _over_gradient.times(grad, outer).shape == (2, *SIZE)
    assert _over_gradient.over(grad, 2j).dtype == np.complex64
    assert _over_gradient.over(grad, 2.0) is grad


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("mul", "grad * conj(other)"),
        ("div", "grad / conj(other)"),
        ("exp", "grad * conj(result)"),
        ("relu", "threshold_backward(grad, result, 0)"),
        ("sigmoid", "sigmoid_backward(grad, result)"),
        ("tanh", "tanh_backward(grad, result)"),
    ],
)
def test_the_formula_shown_is_the_derivative(name: str, shown: str) -> None:
    assert formula_text(OPS[name].formulas[0]) == shown
