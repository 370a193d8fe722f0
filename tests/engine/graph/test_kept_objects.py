"""What a node keeps is few objects: the garbage collector goes through all of them."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import gradtape
from gradtape._graph.node import SavedTensor
from gradtape._modes.grad_mode import mode

RESULTS = ("sigmoid", "tanh", "exp", "sqrt", "relu")
"""Functions whose derivative asks for the result."""


@pytest.fixture(autouse=True)
def hot_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what earlier tests switched on for good, as an inference leaf does."""
    monkeypatch.setattr(mode.now, "rare", False)


def computed(name: str) -> tuple[Any, Any]:
    x = gradtape.tensor([0.5, 2.0], requires_grad=True)
    return x, getattr(x, name)()


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_kept_as_bare_memory_until_someone_looks(name: str) -> None:
    x, y = computed(name)
    node = y.grad_fn
    assert node.kept0 is y._storage
    (saved,) = node.saved
    assert type(saved) is SavedTensor
    assert node.kept0 is saved
    assert (saved.memory, saved.version, saved.tensor) == (y._storage, 0, None)
    assert saved.array is y._data
    y.sum().backward()
    looked_at, x.grad = x.grad, None
    getattr(x, name)().sum().backward()
    assert gradtape.equal(x.grad, looked_at)


@pytest.mark.parametrize("looked", [False, True])
def test_a_result_that_was_written_is_refused(looked: bool) -> None:
    _, y = computed("sigmoid")
    node = y.grad_fn
    if looked:
        assert node.saved
    y.mul_(2)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        y.sum().backward()
    assert node.saved[0].is_stale


def test_a_freed_result_is_refused() -> None:
    _, y = computed("tanh")
    y.sum().backward()
    assert y.grad_fn.saved is None
    with pytest.raises(RuntimeError, match="a second time"):
        y.sum().backward()


def test_a_result_is_differentiated_twice() -> None:
    x, y = computed("sigmoid")
    (once,) = gradtape.autograd.grad(y.sum(), x, create_graph=True)
    (twice,) = gradtape.autograd.grad(once.sum(), x)
    wanted = y * (1 - y) * (1 - 2 * y)
    assert gradtape.allclose(twice, wanted)


def test_nodes_of_products_share_what_they_know_of_sizes() -> None:
    a = gradtape.ones(2, 3, requires_grad=True)
    first, second = ((a @ gradtape.ones(3, 4)).grad_fn for _ in range(2))
    assert first.params == ((2, 3), (3, 1), (3, 4), (4, 1))
    assert first.params is second.params
    other = (a @ gradtape.ones(3, 5)).grad_fn
    assert other.params == ((2, 3), (3, 1), (3, 5), (5, 1))


def test_nodes_share_the_numbers_of_their_next_functions() -> None:
    _, right = gradtape.ones(4, requires_grad=True).chunk(2)
    first, second = right.sin().grad_fn, right.cos().grad_fn
    assert first.numbers == (1,)
    assert first.numbers is second.numbers


def test_a_step_of_an_lstm_is_few_objects() -> None:
    by_input, by_state = (gradtape.ones(n, 8, requires_grad=True) for n in (3, 2))
    x, bias = gradtape.ones(40, 4, 3), gradtape.ones(8, requires_grad=True)

    def run(steps: int) -> Any:
        hidden, cell = gradtape.zeros(4, 2), gradtape.zeros(4, 2)
        for step in range(steps):
            gates = x[step] @ by_input + hidden @ by_state + bias
            enter, forget, fresh, leave = gates.chunk(4, 1)
            cell = forget.sigmoid() * cell + enter.sigmoid() * fresh.tanh()
            hidden = leave.sigmoid() * cell.tanh()
        return hidden

    run(2)  # what the first call sets up stays
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        kept = run(40)
        made = len(gc.get_objects()) - before
    finally:
        gc.enable()
    assert kept.requires_grad
    assert made / 40 < 55  # 14 nodes, 8 tensors, 5 memories, 20 tuples
