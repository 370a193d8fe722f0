"""Writes inside of transforms to what the function was not given, beside PyTorch's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from ..oracle import assert_same

Write = Callable[[Any, Any], Any]

WRITES: list[Write] = [
    lambda c, x: c.copy_(x),
    lambda c, x: c.add_(1),
    lambda c, x: c.__imul__(x),
    lambda c, x: c.zero_(),
    lambda c, x: c[:2].copy_(x[:2]),
    lambda c, x: c.__setitem__(0, x[0]),
    lambda c, x: c.detach().sub_(x.detach()),
    lambda c, x: c.unsqueeze_(0),
    lambda c, x: c.normal_(),
]
TRANSFORMS: list[Callable[[Any, Any, Any], Any]] = [
    lambda t, f, x: t.func.grad(f)(x),
    lambda t, f, x: t.func.vjp(f, x)[0],
    lambda t, f, x: t.func.jvp(f, (x,), (x,)),
    lambda t, f, x: t.func.jacfwd(f)(x),
    lambda t, f, x: t.func.grad(lambda y: t.func.grad(f)(y).sum())(x),
    lambda t, f, x: t.vmap(t.func.grad(f))(x.expand(2, 3)),
]


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("write", WRITES)
def test_a_captured_tensor_is_not_written(transform: Any, write: Write) -> None:
    def program(t: Any) -> Any:
        captured = t.ones(3)

        def f(x: Any) -> Any:
            write(captured, x)
            return (x * captured).sum()

        with pytest.raises(RuntimeError) as caught:
            transform(t, f, t.tensor([1.0, 2.0, 3.0]))
        return str(caught.value), captured

    assert_same(program)


class Counting:
    """A function with a memory of its own."""

    def __init__(self, count: Any) -> None:
        self.count = count

    def __call__(self, x: Any) -> Any:
        self.count.add_(1)
        return x.sum()

    method = __call__


HOLDERS: dict[str, Callable[[Any, Any], Callable[[Any], Any]]] = {
    "object": lambda t, c: Counting(c),
    "method": lambda t, c: Counting(c).method,
    "list": lambda t, c: lambda x, held=[c]: (held[0].add_(1), x.sum())[1],
    "first": lambda t, c: functools.partial(lambda y, x: y.mul_(x).sum(), c),
    "named": lambda t, c: functools.partial(lambda x, y: y.mul_(x).sum(), y=c),
    "layer": lambda t, c: functools.partial(
        lambda layer, x: layer(x.expand(2, 3)).sum(), t.nn.BatchNorm1d(3)
    ),
    "inner": lambda t, c: lambda x: (lambda: c.add_(x))().sum(),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_it_is_found_wherever_the_function_keeps_it(holder: str) -> None:
    def program(t: Any) -> Any:
        f = HOLDERS[holder](t, t.zeros(3))
        return t.func.grad(f)(t.ones(3)).tolist()

    assert_same(program)


def test_what_a_function_is_given_or_makes_may_be_written() -> None:
    def program(t: Any) -> Any:
        x, held = t.arange(3.0), t.ones(3)
        layer = t.nn.BatchNorm1d(3)
        values = dict(layer.named_parameters()), dict(layer.named_buffers())

        def made(x: Any) -> Any:
            out = t.zeros(3)
            out[0] = x[0]
            out += held.clone().mul_(x)
            return out.sum()

        def normed(parameters: Any, buffers: Any) -> Any:
            inputs = (x.expand(2, 3),)
            return t.func.functional_call(layer, (parameters, buffers), inputs).sum()

        grad = t.func.grad
        return (
            grad(made)(x).tolist(),
            t.func.jacfwd(made)(x).tolist(),
            grad(lambda x, y: (y.mul_(2) * x).sum())(x, held).tolist(),
            grad(lambda x, y: (y.mul_(2) * x).sum())(x, y=held).tolist(),
            sorted(grad(normed)(*values)),
            layer.num_batches_tracked.item(),
            t.vmap(lambda x: x.add_(1))(x).tolist(),
        )

    assert_same(program)


@pytest.mark.parametrize(
    "layer",
    [
        lambda t: t.nn.InstanceNorm1d(3, track_running_stats=True),
        lambda t: t.nn.utils.spectral_norm(t.nn.Conv1d(3, 2, 1)),
        lambda t: t.nn.utils.parametrizations.spectral_norm(t.nn.Conv1d(3, 2, 1)),
        lambda t: functools.partial(
            lambda kept, x: x * t.sin(t.ones(4), out=kept), t.zeros(4)
        ),
    ],
)
def test_what_is_stored_as_out_may_be_captured(layer: Any) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        module = layer(t)
        x = t.arange(12.0).reshape(1, 3, 4)
        found = t.func.grad(lambda x: module(x).pow(3).sum())(x)
        state = module.state_dict() if isinstance(module, t.nn.Module) else {}
        return found.tolist(), {name: each.tolist() for name, each in state.items()}

    assert_same(program, rtol=1e-4)
