"""Modules as functions of their parameters, side by side with PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .test_func import data, same


def test_functional_call_replaces_and_restores():
    def program(m: Any) -> Any:
        net = m.nn.Sequential(m.nn.Linear(2, 2), m.nn.BatchNorm1d(2)).double()
        own = net[0].weight
        state = {
            "0.weight": data(m, 2, 2),
            "1.running_mean": m.zeros(2, dtype=m.float64),
        }
        x = data(m, 3, 2)
        with m.no_grad():
            for p in net.parameters():
                p.fill_(0.5)
        output = m.func.functional_call(net, state, (x,))
        output = m.func.functional_call(net, [state, {"0.bias": x[0]}], x)
        return output, net[0].weight is own, state["1.running_mean"]

    same(program)


def test_functional_call_of_tied_weights():
    def program(m: Any) -> Any:
        class Tied(m.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.a = m.nn.Parameter(m.tensor([1.0]))
                self.b = self.a

            def forward(self, x: Any) -> Any:
                return x + self.a * 10 + self.b

        net, x, call = Tied(), m.zeros(1), m.func.functional_call
        new = {"a": m.tensor([2.0])}
        found = [call(net, new, x), call(net, new, x, tie_weights=False)]
        try:
            call(net, {"a": m.ones(1), "b": m.zeros(1)}, x)
        except ValueError as error:
            found.append(str(error))
        return found

    same(program)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda m, net: m.func.functional_call(net, 3, m.ones(1)),
        lambda m, net: m.func.functional_call(net, [3], m.ones(1)),
        lambda m, net: m.func.functional_call(net, [{"a": 1}, {"a": 2}], m.ones(1)),
        lambda m, net: m.func.functional_call(
            net, {"weight": m.ones(1, 1), "c": m.ones(1)}, m.ones(1), strict=True
        ),
        lambda m, net: m.func.stack_module_state([]),
        lambda m, net: m.func.stack_module_state([net, m.nn.Linear(1, 1).eval()]),
        lambda m, net: m.func.stack_module_state([net, m.nn.ReLU()]),
    ],
)
def test_module_refusals_are_in_pytorch_words(wrong: Callable[[Any, Any], Any]):
    same(lambda m: wrong(m, m.nn.Linear(1, 1)))


def test_an_ensemble_runs_at_once():
    def program(m: Any) -> Any:
        models = [m.nn.Linear(2, 1).double() for _ in range(3)]
        with m.no_grad():
            for scale, model in enumerate(models):
                for p in model.parameters():
                    p.fill_(scale + 1.0)
        params, buffers = m.func.stack_module_state(models)

        def loss(params: Any, buffers: Any, x: Any) -> Any:
            return m.func.functional_call(models[0], (params, buffers), x).pow(2).sum()

        x = data(m, 4, 2)
        slopes = m.func.vmap(m.func.grad(loss), in_dims=(0, 0, None))(
            params, buffers, x
        )
        leaves = [p.is_leaf and p.requires_grad for p in params.values()]
        return params, leaves, slopes

    same(program)


def test_gradients_of_each_sample():
    def program(m: Any) -> Any:
        net = m.nn.Sequential(
            m.nn.Linear(3, 2), m.nn.Tanh(), m.nn.Linear(2, 1)
        ).double()
        with m.no_grad():
            for p in net.parameters():
                p.copy_(data(m, *p.shape))
        params = {k: v.detach() for k, v in net.named_parameters()}

        def loss(params: Any, x: Any, y: Any) -> Any:
            out = m.func.functional_call(net, params, (x.unsqueeze(0),))
            return m.nn.functional.mse_loss(out.squeeze(0), y)

        each = m.func.vmap(m.func.grad(loss), in_dims=(None, 0, 0))
        return each(params, data(m, 4, 3), data(m, 4, 1))

    same(program, rtol=1e-4)
