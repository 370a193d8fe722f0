"""Derivatives of derivatives, also where they are zero, beside PyTorch."""

from __future__ import annotations

import pytest

from ..oracle import assert_same

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
    "reflection_pad1d": lambda t, x: t.nn.functional.pad(x, (1, 2), "reflect"),
    "replication_pad1d": lambda t, x: t.nn.functional.pad(x, (1, -2), "replicate"),
    "stft": lambda t, x: t.stft(
        x.flatten(), 4, window=t.ones(4, dtype=x.dtype), return_complex=True
    ).abs(),
    "prelu": lambda t, x: t.nn.functional.prelu(x, t.tensor(0.5, dtype=x.dtype)),
    "prelu of zeros": lambda t, x: t.nn.functional.prelu(
        x * t.tensor([1.0, 0.0, 0.0, 1.0]), t.tensor(0.5, dtype=x.dtype)
    ),
    "rrelu": lambda t, x: t.nn.functional.rrelu(x, 0.5, 0.5, training=True),
    "rrelu in evaluation": lambda t, x: t.nn.functional.rrelu(x),
    "det": lambda t, x: t.linalg.det(x.view(8, 1, 1)),
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


def test_prelu_and_its_weight_have_pytorchs_second_derivatives():
    def program(t):
        x = t.tensor([[-2.0, 0.0], [1.0, -3.0]], requires_grad=True)
        weight = t.tensor([0.25, 0.5], requires_grad=True)
        g = t.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        given = (x, weight, g)
        y = t.nn.functional.prelu(x, weight)
        first = t.autograd.grad(y, (x, weight), g, create_graph=True)
        grad = t.autograd.grad
        twice = [grad(f.square().sum(), given, retain_graph=True) for f in first]
        return y, first, [[t.tolist() for t in each] for each in twice]

    assert_same(program)


def test_no_reflections_have_no_gradients():
    def program(t):
        given = t.ones(3, 3).requires_grad_(), t.ones(0).requires_grad_()
        y = t.linalg.householder_product(*given)
        found = [
            t.autograd.grad(
                y.sum(), given, create_graph=c, allow_unused=True, retain_graph=True
            )
            for c in (False, True)
        ]
        y.sum().backward()
        return found, [each.grad for each in given]

    assert_same(program)


def test_hessian_of_a_square_is_differentiable():
    def program(t):
        hessian = t.autograd.functional.hessian
        x = t.tensor([1.0, 2.0], requires_grad=True)
        found = hessian(lambda x: (x**2).sum(), x, create_graph=True)
        (third,) = t.autograd.grad(found.sum(), x)
        return found.requires_grad, third.tolist()

    assert_same(program)
