"""Large arrays are computed block by block and written in place: the same results."""

from __future__ import annotations

import inspect
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradtape
from gradtape._dispatch import inplace as _inplace
from gradtape._engine import graph_task as _graph_task
from gradtape._modes.grad_mode import mode
from gradtape._modes.thread_state import ROWS_AT_ONCE
from gradtape.ops._kernels import cache_blocks as _blocks
from gradtape.ops._kernels.row_max import highest
from gradtape.ops.reduction import softmax

torch = pytest.importorskip("torch")

SIZE = 3, _blocks.BLOCK // 2 + 7  # no whole number of blocks


def values(count: int, *shape: int) -> list[Any]:
    rng = np.random.default_rng(1)
    return list(rng.normal(0, 3, (count, *(shape or SIZE))).astype("float32"))


def both(program: Callable[[Any], list[Any]], atol: float = 2e-6) -> None:
    """Compare all that a program returns, run on either engine."""
    for ours, theirs in zip(*map(program, (gradtape, torch)), strict=True):
        mine, yours = ours.detach().numpy(), theirs.detach().numpy()
        np.testing.assert_allclose(mine, yours, rtol=2e-5, atol=atol)


UNARY = [
    lambda t, x: t.sigmoid(x),
    lambda t, x: t.tanh(x),
    lambda t, x: t.relu(x),
    lambda t, x: t.nn.functional.gelu(x),
    lambda t, x: 1 / x,
    lambda t, x: x / (x * x + 1),
]


@pytest.mark.parametrize("apply", UNARY)
@pytest.mark.parametrize("shared", [False, True])
def test_results_and_gradients_of_many_blocks(apply: Any, shared: bool) -> None:
    def program(t: Any) -> list[Any]:
        first, second = values(2)
        first.flat[[0, -1]] = np.nan, 1e4
        x = t.tensor(first, requires_grad=True)
        kept: list[Any] = []
        y = apply(t, x * 1.0)
        if shared:  # who keeps the gradient, keeps its values
            y.register_hook(kept.append)
        (y * t.tensor(second)).backward(t.full(SIZE, 0.5))
        return [y, x.grad, *kept]

    both(program)


@pytest.mark.parametrize("apply", UNARY)
def test_second_derivatives_of_many_blocks(apply: Any) -> None:
    def program(t: Any) -> list[Any]:
        x = t.tensor(values(1)[0], requires_grad=True)
        (slope,) = t.autograd.grad(apply(t, x).sum(), x, create_graph=True)
        (slope * slope).mean().backward()
        return [slope, x.grad * x.numel()]

    both(program)


def test_columns_are_no_blocks() -> None:
    def program(t: Any) -> list[Any]:
        x = t.tensor(values(1)[0], requires_grad=True)
        y = t.sigmoid(x.t()) / t.tanh(x.t() + 40)
        y.backward(t.tensor(values(1)[0]).t())
        return [y, x.grad]

    both(program)


def test_gradients_that_meet_are_added_in_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names: list[str] = []

    class Watched:
        now = _graph_task.mode.now

        @staticmethod
        def run(function: Any, *args: Any) -> Any:
            names.append(function.__name__)
            return function(*args)

    monkeypatch.setattr(_graph_task, "mode", Watched)
    add = inspect.unwrap(_graph_task.GraphTask.add)  # compiled, it would not see that
    monkeypatch.setattr(_graph_task.GraphTask, "add", add)
    x, scale = (gradtape.tensor(each, requires_grad=True) for each in values(2))
    y = x * 2.0
    (y * scale + y / scale + y.exp() * scale).sum().backward()
    assert names.count("__iadd__") >= 4  # two sums for y, two for scale
    assert "__add__" not in names


def test_both_gradients_of_a_square_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    added: list[Any] = []
    for cause in ("ever_packed", "renumbered"):  # what other tests may have left
        monkeypatch.setattr(f"gradtape._engine.backward.{cause}", [])
    monkeypatch.setattr("gradtape._engine.backward.suspicious", lambda: False)
    monkeypatch.setattr(
        _graph_task.GraphTask, "add", lambda *given: added.append(given)
    )
    x = gradtape.tensor(values(1)[0], requires_grad=True)
    y = x * 1.0
    (y * y).exp().backward(gradtape.full(SIZE, 0.5))
    assert not added
    expected = torch.tensor(values(1)[0], requires_grad=True)
    (expected * expected).exp().backward(torch.full(SIZE, 0.5))
    np.testing.assert_allclose(x.grad.numpy(), expected.grad.numpy(), rtol=2e-5)


PARTS = [
    lambda y: [y[0], y[1], y[-1], y[1]],
    lambda y: [y[:, :2000], y[:2, 1500:], y[:, ::3]],
    lambda y: [y[0], y[:, 100:], y.exp(), y.narrow(0, 1, 2)],
    lambda y: [y[1, 5:], y[:, 5:][1], y * y],
]


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("leaf", [False, True])
def test_gradients_of_parts_add_up(parts: Any, leaf: bool) -> None:
    def program(t: Any) -> list[Any]:
        x = t.tensor(values(1, 3, 4000)[0] / 9, requires_grad=True)
        each = parts(x if leaf else x * 2.0)
        sum((part * part).sum() for part in each).backward()
        return [x.grad]

    both(program)


def test_gradients_of_parts_leave_kept_gradients_alone() -> None:
    def program(t: Any) -> list[Any]:
        x = t.tensor(values(1)[0], requires_grad=True)
        y = x * 2.0
        part = y[1] * 3.0
        whole = y + 0.0
        kept: list[Any] = []
        whole.register_hook(kept.append)  # what arrives at y before the part's gradient
        ((whole * whole).sum() + part.sum()).backward()
        return [x.grad, *kept]

    both(program)


# ---- reductions, by some rows at a time ----

MANY_ROWS = 2 * _blocks.BLOCK // 1000 + 3, 1000

REDUCTIONS = [
    lambda x: x.logsumexp(0),
    lambda x: x.logsumexp(1, keepdim=True),
    lambda x: x.logsumexp((0, 1)),
    lambda x: x.var(),
    lambda x: x.std(0),
    lambda x: x.var(1, keepdim=True),
    lambda x: x.norm(),
    lambda x: x.norm(dim=0),
    lambda x: x.norm(dim=1),
    lambda x: x.mean(),
    lambda x: x.mean(1),
    lambda x: x / (x * x).sum(0, keepdim=True).sqrt(),
    lambda x: x / (x * x).mean(1, keepdim=True),
    lambda x: x - x.mean(1, keepdim=True),
]


@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("special", [1.0, np.nan, np.inf, -np.inf])
def test_reductions_of_many_rows(reduce: Any, special: float) -> None:
    def program(t: Any) -> list[Any]:
        first, second = values(2, *MANY_ROWS)
        first[5, 7] = special
        x = t.tensor(first, requires_grad=True)
        y = reduce(x)
        y.backward(t.tensor(second.ravel()[: y.numel()].reshape(tuple(y.shape))))
        return [y, x.grad]

    both(program)


@pytest.mark.parametrize("reduce", REDUCTIONS[:9])
def test_what_is_added_up_is_never_there_as_a_whole(reduce: Any) -> None:
    x = gradtape.tensor(values(1, *MANY_ROWS)[0])
    tracemalloc.start()
    try:
        reduce(x)
        assert tracemalloc.get_traced_memory()[1] < 0.8 * x.nbytes
    finally:
        tracemalloc.stop()


# ---- in-place ops ----

WRITES = [
    lambda x, other: x.add_(other),
    lambda x, other: x.sub_(other),
    lambda x, other: x.mul_(other),
    lambda x, other: x.div_(other),
]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("columns", [0, 1, SIZE[1]])
def test_in_place_ops_write_straight(
    monkeypatch: pytest.MonkeyPatch, write: Any, columns: int
) -> None:
    def program(t: Any) -> list[Any]:
        x, other = (t.tensor(each) for each in values(2))
        watched = x[1]
        write(x, other[0, :columns] if columns else 3)
        return [x, watched]

    expected = program(torch)
    monkeypatch.setattr(_inplace, "compute", None)
    for ours, theirs in zip(program(gradtape), expected, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)


@pytest.mark.parametrize("write", WRITES)
def test_in_place_ops_that_are_recorded(write: Any) -> None:
    def program(t: Any) -> list[Any]:
        x, other = (t.tensor(each, requires_grad=True) for each in values(2))
        y = x.exp().clamp(max=10)
        assert write(y, other) is y
        y.sum().backward()
        return [y, x.grad, other.grad]

    both(program)


@pytest.mark.parametrize("write", WRITES)
def test_a_target_that_is_its_own_operand(write: Any) -> None:
    def program(t: Any) -> list[Any]:
        x = t.tensor(values(1)[0])
        write(x, x)
        write(x, x[0].clone())
        write(x[:, 1:], x[:, :-1].clone())
        return [x]

    both(program)


def test_a_target_keeps_its_dtype_and_counts_its_writes() -> None:
    x = gradtape.ones(SIZE)
    x.add_(gradtape.ones(SIZE, dtype=gradtape.float64)).mul_(2)
    assert x.dtype is gradtape.float32
    assert x._version == 2
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        x.add_(gradtape.ones(2, *SIZE))
    with pytest.raises(RuntimeError, match="must match the size"):
        x.add_(gradtape.ones(5))


# ---- the largest of every row ----


@pytest.mark.parametrize("length", [1, 10, 16, 17, 64, 300])
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "_safe_softmax"])
def test_softmax_of_many_rows(length: int, name: str) -> None:
    def program(t: Any) -> list[Any]:
        scores = values(1, 5000 // length + 1, length)[0]
        scores[0, 0], scores[1, -1], scores[2], scores[3] = np.nan, np.inf, -np.inf, 200
        scores[4, length // 2 :] = -np.inf
        x = t.tensor(scores, requires_grad=True)
        y = getattr(t, name)(x, -1)
        y[3:].square().sum().backward()
        return [y, x.grad[4 + (length == 1) :]]

    both(program, atol=2e-5)  # slopes of log_softmax are differences


@pytest.mark.parametrize("most", [1, 39, 41, 300])
@pytest.mark.parametrize("dim", [0, 1])
def test_softmax_of_mild_scores_asks_for_no_largest(
    monkeypatch: pytest.MonkeyPatch, most: float, dim: int
) -> None:
    def program(t: Any) -> list[Any]:
        x = t.linspace(-most, most, 6000).reshape(60, 100).requires_grad_()
        y = x.softmax(dim)
        y.square().sum().backward()
        return [y, x.grad]

    asked: list[Any] = []
    monkeypatch.setattr(
        softmax, "highest", lambda *args: asked.append(args) or highest(*args)
    )
    both(program)
    assert len(asked) == (most > 40)


def test_the_largest_along_any_dimension() -> None:
    (array,) = values(1, 40, 12, 30)
    array[3, 4, 5] = np.nan
    for axis in range(3):
        found = highest(np, array, axis)
        np.testing.assert_array_equal(found, array.max(axis, keepdims=True))
    turned = array.transpose(2, 0, 1)
    found = highest(np, turned, 2)
    np.testing.assert_array_equal(found, turned.max(2, keepdims=True))


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize(
    "shape", [(130, 4096), (600, 900), (3, 70, 60, 50), (550_001,)]
)
def test_sums_of_what_is_in_no_cache(kind: str, shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(0).standard_normal(shape).astype(kind)
    ours, exact = gradtape.from_numpy(array), array.astype("longdouble")
    slack = 2e-6 if kind == "float32" else 1e-14
    for found, wanted in (
        (ours.sum(), exact.sum()),
        (ours.sum(-1), exact.sum(-1)),
        (ours.mean(-1, keepdim=True), exact.mean(-1, keepdims=True)),
    ):
        spread = np.sqrt(array.size) * (1 if found.dim() == 0 else 0.1)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=0, atol=slack * spread)


def test_kernels_buffer_little_and_leave_numpy_as_it_was() -> None:
    before = np.getbufsize()
    assert mode.now.run(np.getbufsize) == ROWS_AT_ONCE
    matrix, column = values(1, 40, 3000)[0], values(1, 40, 1)[0]
    found = gradtape.from_numpy(matrix) - gradtape.from_numpy(column)
    np.testing.assert_array_equal(found.numpy(), matrix - column)
    assert np.getbufsize() == before != ROWS_AT_ONCE
