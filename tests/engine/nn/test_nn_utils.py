"""Clipping gradients and flattening parameters give PyTorch's numbers."""

from __future__ import annotations

from typing import Any

import pytest

import gradtape as gt

from ..oracle import assert_same


def trained(t: Any) -> Any:
    t.manual_seed(0)
    net = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.Linear(4, 2))
    net(t.ones(2, 3)).pow(2).sum().backward()
    return net


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0, float("inf")])
@pytest.mark.parametrize("limit", [0.1, 100.0])
def test_clipping_by_norm(order: float, limit: float) -> None:
    def program(t: Any) -> Any:
        net = trained(t)
        total = t.nn.utils.clip_grad_norm_(net.parameters(), limit, order)
        return [total, [p.grad for p in net.parameters()]]

    assert_same(program)


def test_clipping_by_value() -> None:
    def program(t: Any) -> Any:
        net = trained(t)
        t.nn.utils.clip_grad_value_(net.parameters(), 0.5)
        return [p.grad for p in net.parameters()]

    assert_same(program)


def test_a_norm_that_is_not_finite_is_refused_on_demand() -> None:
    def program(t: Any) -> Any:
        x = t.ones(2, requires_grad=True)
        (x * float("inf")).sum().backward()
        return t.nn.utils.clip_grad_norm_([x], 1.0, error_if_nonfinite=True)

    assert_same(program)


def test_nothing_to_clip() -> None:
    assert_same(lambda t: t.nn.utils.clip_grad_norm_([t.ones(2)], 1.0))


def test_clipping_is_logged_as_a_write() -> None:
    net = trained(gt)
    gt.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
    assert net[0].weight.grad._storage.writes[-1].op == "clip_grad_norm_"


def test_parameters_become_a_vector_and_back() -> None:
    def program(t: Any) -> Any:
        net = trained(t)
        vector = t.nn.utils.parameters_to_vector(net.parameters())
        t.nn.utils.vector_to_parameters(vector.detach() * 2, net.parameters())
        return [vector, [p.tolist() for p in net.parameters()]]

    assert_same(program)
