"""Kernels that numba compiles give what PyTorch gives, and nothing needs them."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gradtape as gt
from gradtape._backend import compiled
from gradtape.ops._kernels.cache_blocks import BLOCK
from gradtape.ops._support.reuse_gradient import above_zero_only

from ..oracle import assert_same

ODD = (float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1e-40, 89.0, -89.0, 200.0)
MANY = 2 * BLOCK + 3
find_kernel: Any = compiled._compiled


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let each test begin as a process does, and leave the switch as it was."""
    monkeypatch.setattr(compiled.switch, "on", True)
    find_kernel.cache_clear()
    yield
    find_kernel.cache_clear()


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the kernels that were asked for."""
    pytest.importorskip("numba")
    names: list[str] = []

    def find(name: str) -> Any:
        names.append(name)
        return find_kernel(name)

    monkeypatch.setattr(compiled, "_compiled", find)
    return names


def numbers(t: Any, *shape: int, seed: int = 0) -> Any:
    """Return normal numbers with odd ones among them, as a leaf."""
    drawn = np.random.default_rng(seed).standard_normal(shape).astype("float32") * 0.7
    drawn.reshape(-1)[: len(ODD)] = ODD
    return t.tensor(drawn, requires_grad=True)


# ---- pointwise ----


def gelu(t: Any, x: Any) -> Any:
    """Return gelu without infinities, of which PyTorch's kernels think differently."""
    return t.nn.functional.gelu(t.where(x.isinf(), 1.0, x))


FORMULAS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "sigmoid": ("sigmoid", lambda t, x: t.sigmoid(x)),
    "slope of sigmoid": ("sigmoid_slope", lambda t, x: t.sigmoid(x) * 3),
    "slope of sigmoid, not in place": (
        "sigmoid_slope",
        lambda t, x: t.sigmoid(x),
    ),
    "slope of tanh": ("tanh_slope", lambda t, x: t.tanh(x) * 3),
    "gelu": ("gelu", lambda t, x: x + gelu(t, x)),
    "slope of gelu": ("gelu_slope", lambda t, x: x + gelu(t, x) * 3),
    "slope of a divisor": ("divisor_slope", lambda t, x: x.detach().flip(0) / x),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_pointwise_kernels(name: str, used: list[str]) -> None:
    kernel, formula = FORMULAS[name]

    def program(t: Any) -> Any:
        x, grad = numbers(t, MANY), numbers(t, MANY, seed=1).detach()
        y = formula(t, x)
        y.backward(grad)
        return [y, x.grad, grad]

    assert_same(program, rtol=5e-5)
    assert f"pointwise.{kernel}" in used


def test_slope_of_relu(used: list[str]) -> None:
    def program(t: Any) -> Any:
        x, grad = numbers(t, MANY), numbers(t, MANY, seed=1).detach().roll(3)
        y = t.relu(x)
        if t is gt:  # as backward does where nobody else knows the gradient
            return [
                y,
                gt.from_numpy(above_zero_only(grad.numpy(), y.numpy(force=True))),
            ]
        return [y, *t.autograd.grad(y, x, grad)]

    assert_same(program)
    assert used == ["pointwise.zero_unless_above"]


def test_a_step_of_sgd(used: list[str]) -> None:
    def program(t: Any) -> Any:
        x = numbers(t, 3, MANY)
        x.grad = numbers(t, 3, MANY, seed=1).detach()
        t.optim.SGD([x], lr=0.3).step()
        return [x]

    assert_same(program)
    assert used == ["pointwise.add_scaled"]


OTHERS: dict[str, Callable[[Any], Any]] = {
    "float64": lambda t: numbers(t, MANY).double(),
    "transposed": lambda t: numbers(t, 300, 500).t(),
    "every second": lambda t: numbers(t, 2 * MANY)[::2],
    "small": lambda t: numbers(t, 100),
    "empty": lambda t: t.zeros(0, BLOCK, requires_grad=True),
    "of no dimension": lambda t: t.tensor(0.5, requires_grad=True),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_no_kernel_serves(name: str, used: list[str]) -> None:
    def program(t: Any) -> Any:
        x = OTHERS[name](t)
        y = t.sigmoid(x).tanh() * t.relu(x)
        return [y, *t.autograd.grad(y.sum(), x)]

    assert_same(program, rtol=5e-5)
    assert not used or name in ("transposed", "every second")  # copies of their own


# ---- pooling ----


@pytest.mark.parametrize("height", [40, 41])
@pytest.mark.parametrize("ceil", [False, True], ids=("floor", "ceil"))
def test_largest_of_four(height: int, ceil: bool, used: list[str]) -> None:
    def program(t: Any) -> Any:
        x = (numbers(t, 6, 5, height, 40).detach().round()).requires_grad_()
        with t.no_grad():
            x[0, 0, 8:12] = -float("inf")
            x[1, 2, 4:9, ::3] = float("nan")
        found = t.nn.functional.max_pool2d(x, 2, ceil_mode=ceil, return_indices=True)
        grad = numbers(t, *found[0].shape, seed=1).detach()
        return [*found, *t.autograd.grad(found[0], x, grad)]

    assert_same(program)
    whole = height % 2 == 0 or not ceil
    assert ("pooling.largest_of_four" in used) is whole
    assert "pooling.scatter" in used


def test_windows_that_overlap_add_up(used: list[str]) -> None:
    def program(t: Any) -> Any:
        x = numbers(t, 6, 5, 40, 40)
        y = t.nn.functional.max_pool2d(x, 3, stride=1)
        return [y, *t.autograd.grad(y, x, t.ones_like(y))]

    assert_same(program)
    assert "pooling.scatter" in used


def test_indices_outside_of_a_plane_write_nothing(used: list[str]) -> None:
    large = np.zeros(MANY, "float32")
    scatter: Any = compiled.kernel_for("pooling.scatter", large)
    block = np.full((3, 4), 7, "float32")
    scatter(block[1:2], np.ones((1, 3), "float32"), np.array([[-1, 4, 2]]))
    assert block.tolist() == [[7] * 4, [0, 0, 1, 0], [7] * 4]


# ---- rows ----


def lifted(found: list[Any]) -> list[Any]:
    """Return numbers so far from 0 that what is lost beside larger terms is little."""
    return [each + 10 * each.abs().nan_to_num().max() for each in found]


@pytest.mark.parametrize("inner", [(67,), (5, 13)], ids=str)
@pytest.mark.parametrize("leaf", [True, False], ids=("leaf", "data"))
def test_layer_norm(inner: tuple[int, ...], leaf: bool, used: list[str]) -> None:
    def program(t: Any) -> Any:
        x = numbers(t, 140, 4, *inner).detach()[1:].requires_grad_(leaf)
        odd = numbers(t, 140, 4, *inner).detach()
        scales = [t.linspace(-2, 3, x[0, 0].numel()).reshape(inner) for _ in range(2)]
        for scale in scales:
            scale.requires_grad_()
        y = t.nn.functional.layer_norm(x, inner, *scales)
        wanted = [x, *scales] if leaf else scales
        slopes = t.autograd.grad(y, wanted, odd[1:].roll(1, 0))
        with_nan = t.nn.functional.layer_norm(odd, inner, *scales)
        return [*lifted([y, *slopes]), with_nan.isnan(), *[s.stride() for s in slopes]]

    assert_same(program)
    assert {"rows.layer", "rows.layer_back"} <= set(used)


@pytest.mark.parametrize("name", ["no bias", "float64", "long rows", "two kinds"])
def test_layers_of_other_kinds(name: str) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(1)
        shape = (1, MANY) if name == "long rows" else (600, 64)
        x = t.randn(shape).to(t.float64 if name == "float64" else t.float32)
        weight = t.ones(shape[1], dtype=x.dtype)
        bias = None if name == "no bias" else weight * 2
        x = x.bfloat16() if name == "two kinds" else x
        x.requires_grad_()
        y = t.nn.functional.layer_norm(x, shape[1:], weight, bias)
        return lifted([y, *t.autograd.grad(y, x, x.detach().cos())])

    assert_same(program)


@pytest.mark.parametrize("dim", [-1, 0])
def test_slope_of_softmax(dim: int, used: list[str]) -> None:
    def program(t: Any) -> Any:
        x, grad = numbers(t, 700, 67), numbers(t, 700, 67, seed=1).detach()
        y = t.softmax(t.where(x.abs() < 9, x, -float("inf")), dim)
        return [y, *t.autograd.grad(y, x, grad.roll(900))]

    assert_same(program, rtol=1e-4)
    assert "rows.softmax_back" in used


# ---- LSTM ----


@pytest.mark.parametrize("units", [32, 33])
def test_lstm_steps(units: int, used: list[str]) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(1)
        layer = t.nn.LSTM(5, units, bidirectional=True)
        x = t.randn(150, 8, 5, requires_grad=True)
        h, c = (t.randn(2, 8, units, requires_grad=True) for _ in range(2))
        output, (hidden, cell) = layer(x, (h, c))
        loss = (output * output).sum() + hidden.sum() + (cell * cell).sum()
        wanted = [x, h, c, *layer.parameters()]
        return [output, hidden, cell, *t.autograd.grad(loss, wanted)]

    assert_same(program, rtol=5e-3)
    assert {"recurrent.cell", "recurrent.cell_back"} <= set(used)


def test_odd_numbers_go_through_an_lstm(used: list[str]) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(1)
        layer, x = t.nn.LSTM(4, 32), numbers(t, 100, 4, 4).detach()
        output, (hidden, cell) = layer(t.cat([x[:, 1:], x[:, :1].clamp(-9, 9)], 1))
        return [output.isnan(), hidden.isnan(), cell.isnan()]

    assert_same(program)
    assert "recurrent.cell" in used


# ---- without ----


def printed(code: str, setting: str) -> str:
    """Run code in a process of its own; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": ":".join(sys.path), "GRADTAPE_NUMBA": setting},
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.strip()


STEP = f"""
import sys, gradtape as t
x = t.ones({MANY}, requires_grad=True)
t.sigmoid(x).sum().backward()
print(round(x.grad[5].item(), 6), "numba" in sys.modules)
"""


def test_the_environment_turns_numba_off() -> None:
    assert printed(STEP, setting="0") == "0.196612 False"


def test_small_arrays_do_not_import_numba() -> None:
    assert printed(STEP.replace(str(MANY), "1000"), setting="1") == "0.196612 False"


def test_numba_that_is_missing_is_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    assert gt.sigmoid(gt.zeros(MANY)).eq(0.5).all()
    assert not compiled.switch.on


def test_numba_that_fails_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str, package: str) -> Any:
        raise ImportError("Numba needs NumPy 2.4 or less.\nMore of it.")

    monkeypatch.setattr(compiled, "find_spec", lambda name: SimpleNamespace())
    monkeypatch.setattr(compiled, "import_module", fail)
    x = gt.zeros(MANY, requires_grad=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        (gt.sigmoid(x) * 4).sum().backward()
        assert gt.sigmoid(x).eq(0.5).all()
    assert x.grad is not None
    assert x.grad.eq(1).all()
    (warning,) = caught
    error = "ImportError: Numba needs NumPy 2.4 or less."
    assert str(warning.message) == compiled.FAILED.format(error=error)
    assert warning.filename == __file__


def test_a_folder_that_cannot_be_written_costs_only_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("numba")
    from gradtape._backend.compiled import _jit

    compile_with, asked = _jit._njit, list[bool]()

    def njit(*signature: str, cache: bool = False, **how: Any) -> Any:
        if signature:  # a kernel, and no function that becomes part of kernels
            asked.append(cache)
        if cache:
            raise RuntimeError("cannot cache function 'sigmoid': no locator available")
        return compile_with(*signature, **how)

    monkeypatch.setattr(_jit, "_njit", njit)
    assert gt.sigmoid(gt.zeros(MANY)).eq(0.5).all()
    assert asked == [True, False]
