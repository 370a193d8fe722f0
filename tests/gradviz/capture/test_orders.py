"""Nodes say which differentiation made them, on both engines."""

from __future__ import annotations

from typing import Any

import gradviz
from gradviz import ir


def orders(snapshot: ir.Snapshot) -> list[int]:
    """Return the order of each op in the order in which they were made."""
    made = [node for node in snapshot.nodes if node.sequence is not None]
    made.sort(key=lambda node: node.sequence or 0)
    return [node.order for node in made]


def test_the_second_derivative_is_of_order_two(lib: Any) -> None:
    x = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with gradviz.record() as recorder:
        y = (x**3).sum()
        (g,) = lib.autograd.grad(y, x, create_graph=True)
        (h,) = lib.autograd.grad(g.sum(), x, create_graph=True)
        h.sum().backward()
    found = orders(recorder.snapshot())
    assert found[:2] == [0, 0]  # pow, sum
    assert found[-1] == 0  # the last sum, made by hand
    assert sorted(set(found)) == [0, 1, 2]
    assert found.count(0) == 4
    assert found.index(1) < found.index(2)


def test_a_plain_backward_makes_no_nodes_of_higher_order(lib: Any) -> None:
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    with gradviz.record() as recorder:
        for _ in range(3):
            (x * x).exp().sum().backward()
    assert set(orders(recorder.snapshot())) == {0}


def test_a_call_of_several_nodes_after_a_pass_was_not_made_by_it(lib: Any) -> None:
    net = lib.nn.Linear(3, 1)
    with gradviz.record() as recorder:
        for _ in range(3):
            net(lib.ones(2, 3)).pow(2).mean().backward()
    assert set(orders(recorder.snapshot())) == {0}


def test_each_pass_over_the_same_graph_counts_from_that_graph(lib: Any) -> None:
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    with gradviz.record() as recorder:
        for _ in range(2):
            y = (x**3).sum()
            (g,) = lib.autograd.grad(y, x, create_graph=True)
            (y + (g * g).sum()).backward()
    assert max(orders(recorder.snapshot())) == 1


def test_a_pass_over_a_graph_of_before_the_recording_made_none_of_it(lib: Any) -> None:
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    loss = (x * x).sum()
    with gradviz.record() as recorder:
        loss.backward()
    found = orders(recorder.snapshot())
    assert found
    assert set(found) == {0}
