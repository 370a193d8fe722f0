"""How long saved values live, and writes to them that go round the counter."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradtape
from gradtape._graph import observe as events

Program = Callable[[Any], Any]


def recorded(program: Program) -> tuple[list[Any], list[str]]:
    """Run under an observer; return the events of changed values, and the warnings."""
    found: list[Any] = []

    def listen(event: Any) -> None:
        if type(event) is events.SavedValueChanged:
            found.append(event)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with gradtape.observe(listen):
            program(gradtape)
    return found, [str(w.message) for w in caught]


def test_a_write_through_data_is_noticed_with_who_did_it() -> None:
    def program(torch: Any) -> Any:
        w = torch.ones(3, requires_grad=True)
        y = w.sin()
        w.data.mul_(2)
        y.sum().backward()

    found, said = recorded(program)
    assert [(e.node.name(), e.slot) for e in found] == [("SinBackward0", "_saved_self")]
    assert found[0].write is not None
    assert found[0].write.op == "mul_"
    assert len(said) == 1
    assert "SinBackward0, recorded at " in said[0]
    assert "_saved_self" in said[0]
    assert "It was written by mul_ at " in said[0]


@pytest.mark.parametrize("size", [3, 100_000])
@pytest.mark.parametrize("ordered", [True, False])
def test_a_write_through_an_array_is_noticed(size: int, ordered: bool) -> None:
    def program(torch: Any) -> Any:
        x = torch.ones(size, 2, requires_grad=True)
        array = x.detach().numpy()
        y = (x if ordered else x[:, 0]).sin()
        array *= 2
        y.sum().backward()

    found, said = recorded(program)
    assert [event.write for event in found] == [None]
    assert "by other means, such as a NumPy array" in said[0]


def test_nobody_is_blamed_for_a_write_before_the_tensor_was_saved() -> None:
    """What was written through ``.data`` may have been another tensor there."""

    def program(torch: Any) -> Any:
        w = torch.ones(3, requires_grad=True)
        w.data.mul_(2)
        y = w.sin()
        w.detach().numpy()[0] = 5
        y.sum().backward()

    found, said = recorded(program)
    assert [event.write for event in found] == [None]
    assert "by other means, such as a NumPy array" in said[0]


def test_data_that_was_replaced_is_noticed() -> None:
    def program(torch: Any) -> Any:
        w = torch.ones(3, requires_grad=True)
        y = w.sin()
        w.data = torch.zeros(3)
        y.sum().backward()

    found, said = recorded(program)
    assert [event.write for event in found] == [None]
    assert "or an assignment to .data" in said[0]


def test_a_write_that_the_counter_sees_is_an_error_and_no_event() -> None:
    def program(torch: Any) -> Any:
        x = torch.ones(3, requires_grad=True) * 2
        y = x.sin()
        x.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace"):
            y.sum().backward()

    assert recorded(program) == ([], [])


def test_a_change_is_told_once_for_a_graph_that_is_kept() -> None:
    def program(torch: Any) -> Any:
        w = torch.ones(3, requires_grad=True)
        y = w.sin().sum()
        w.data.mul_(2)
        y.backward(retain_graph=True)
        y.backward()

    found, said = recorded(program)
    assert len(found) == len(said) == 1


def test_training_as_usual_changes_nothing_behind_the_counter() -> None:
    def program(torch: Any) -> Any:
        nn = torch.nn
        model = nn.Sequential(
            nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(inplace=True), nn.Dropout(0.2)
        )
        model.append(nn.Linear(8, 2))
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
        x, target = torch.randn(6, 4), torch.tensor([0, 1, 0, 1, 0, 1])
        for _ in range(3):
            losses = [nn.functional.cross_entropy(model(x), target) for _ in range(2)]
            optimizer.zero_grad()
            (losses[0] + losses[1]).backward()
            optimizer.step()

    assert recorded(program) == ([], [])


def test_nothing_is_remembered_without_an_observer() -> None:
    w = gradtape.ones(3, requires_grad=True)
    y = w.sin()
    w.detach().numpy()[:] = 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y.sum().backward()
    assert np.allclose(w.grad.numpy(), np.cos(2.0))


# ---- lifetime ----------------------------------------------------------------------


@pytest.mark.usefixtures("no_collector")
def test_packed_graphs_are_freed_without_the_collector() -> None:
    a = gradtape.ones(3, requires_grad=True)
    kept = gradtape.ones(3)
    with gradtape.autograd.graph.saved_tensors_hooks(lambda x: kept, lambda x: x):
        y = (a * 2).exp().sin()
    nodes = weakref.ref(y.grad_fn), weakref.ref(y.grad_fn.next_functions[0][0])
    del y
    assert [node() for node in nodes] == [None, None]


def test_what_a_hook_packed_goes_with_backward() -> None:
    class Token:
        pass

    tokens: list[weakref.ref[Token]] = []

    def pack(x: Any) -> Any:
        token = Token()
        tokens.append(weakref.ref(token))
        return token, x.detach()

    a = gradtape.ones(3, requires_grad=True)
    with gradtape.autograd.graph.saved_tensors_hooks(pack, lambda packed: packed[1]):
        y = a.exp().sin()
    assert all(token() is not None for token in tokens)
    y.sum().backward()
    assert [token() for token in tokens] == [None, None]
