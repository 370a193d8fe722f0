"""Derivatives of derivatives, also where they are zero, beside PyTorch."""

from __future__ import annotations

import pytest

from .oracle import assert_same

FLAT = {
    "square": lambda t, x: x**2,
    "Tensor.square": lambda t, x: x.square(),
    "cube": lambda t, x: x**3,
    "leaky_relu": lambda t, x: t.nn.functional.leaky_relu(x),
    "relu": lambda t, x: t.nn.functional.relu(x),
    "relu6": lambda t, x: t.nn.functional.relu6(x),
    "hardtanh": lambda t, x: t.nn.functional.hardtanh(x),
    "hardshrink": lambda t, x: t.nn.functional.hardshrink(x),
    "softshrink": lambda t, x: t.nn.functional.softshrink(x),
    "max_pool1d": lambda t, x: t.nn.functional.max_pool1d(x, 2),
    "avg_pool1d": lambda t, x: t.nn.functional.avg_pool1d(x, 2),
    "adaptive_avg_pool1d": lambda t, x: t.nn.functional.adaptive_avg_pool1d(x, 2),
    "adaptive_max_pool1d": lambda t, x: t.nn.functional.adaptive_max_pool1d(x, 2),
    "nll_loss": lambda t, x: t.nn.functional.nll_loss(x[0], t.tensor([0, 1])),
}


@pytest.mark.parametrize("name", FLAT)
def test_each_order_is_a_leaf_where_pytorch_has_none(name: str):
    def program(t):
        x = t.linspace(-2, 2, 8, dtype=t.float64).view(1, 2, 4).requires_grad_()
        orders = [FLAT[name](t, x)]
        while orders[-1].requires_grad and len(orders) < 6:
            total = orders[-1].sum()
            orders += t.autograd.grad(total, x, create_graph=True)
        return [(o.requires_grad, o.detach()) for o in orders]

    assert_same(program)


def test_hessian_of_a_square_is_differentiable():
    def program(t):
        hessian = t.autograd.functional.hessian
        x = t.tensor([1.0, 2.0], requires_grad=True)
        found = hessian(lambda x: (x**2).sum(), x, create_graph=True)
        (third,) = t.autograd.grad(found.sum(), x)
        return found.requires_grad, third.tolist()

    assert_same(program)
