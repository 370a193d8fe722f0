"""Module hooks, scopes and containers behave as PyTorch's."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest

import gradtape as gt
from gradtape import nn
from gradtape._modes.grad_mode import mode

from ..oracle import assert_same

# ---- hooks ----


def test_forward_hooks_change_arguments_and_output() -> None:
    def program(t: Any) -> Any:
        layer = t.nn.Linear(2, 2)
        t.nn.init.ones_(layer.weight)
        t.nn.init.zeros_(layer.bias)
        seen: list[str] = []

        def before(module: Any, args: Any, kwargs: Any) -> Any:
            seen.append(f"before {len(args)} {sorted(kwargs)}")
            return (args[0] * 2,), kwargs

        layer.register_forward_pre_hook(before, with_kwargs=True)
        layer.register_forward_pre_hook(lambda m, a: seen.append("first"), prepend=True)
        handle = layer.register_forward_hook(lambda m, a, out: out + 1)
        result = [layer(t.ones(1, 2))]
        handle.remove()
        result.append(layer(t.ones(1, 2)))
        return [result, seen]

    assert_same(program)


def test_hooks_called_always_run_after_errors() -> None:
    def program(t: Any) -> Any:
        layer, seen = t.nn.Linear(2, 2), []
        layer.register_forward_hook(
            lambda m, a, out: seen.append(out is None), always_call=True
        )
        try:
            layer(t.ones(1, 3))
        except RuntimeError as error:
            seen.append(str(error))
        return seen

    assert_same(program)


def test_full_backward_hooks_see_and_change_gradients() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        layer, seen = t.nn.Linear(2, 3), []
        layer.register_full_backward_pre_hook(lambda m, g: (g[0] * 2,))

        def after(module: Any, grad_input: Any, grad_output: Any) -> Any:
            seen.extend([*grad_input, *grad_output])
            return (grad_input[0] + 1,)

        layer.register_full_backward_hook(after)
        x = t.ones(2, 2, requires_grad=True)
        layer(x).sum().backward()
        return [seen, x.grad, layer.weight.grad]

    assert_same(program)


def test_full_backward_hooks_without_input_gradients() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        layer, seen = t.nn.Linear(2, 3), []
        layer.register_full_backward_hook(
            lambda m, gi, go: seen.append([gi, go[0].tolist()])
        )
        layer(t.ones(2, 2)).sum().backward()
        return seen

    assert_same(program)


def test_both_kinds_of_backward_hooks_are_refused() -> None:
    def program(t: Any) -> Any:
        layer = t.nn.Linear(2, 3)
        layer.register_full_backward_hook(lambda m, gi, go: None)
        layer.register_backward_hook(lambda m, gi, go: None)

    assert_same(program)


# ---- scopes ----


def test_nodes_know_the_modules_they_were_recorded_in() -> None:
    net = nn.Sequential(OrderedDict(body=nn.Sequential(nn.Linear(2, 2)), end=nn.Tanh()))
    out = net(gt.ones(1, 2))
    node = out.grad_fn
    assert node is not None
    assert node.scope is not None
    assert node.scope.name == "end"
    inner = node.next_functions[0][0]
    assert inner is not None
    names, scope = [], inner.scope
    while scope is not None:
        names.append(scope.name)
        scope = scope.parent
    assert names == ["0", "body", "Sequential"]


def test_two_calls_of_one_module_are_two_scopes() -> None:
    layer = nn.Linear(2, 2)
    first, second = layer(gt.ones(1, 2)).grad_fn, layer(gt.ones(1, 2)).grad_fn
    assert first is not None
    assert second is not None
    assert first.scope is not second.scope


def test_scope_is_restored_after_an_error() -> None:
    layer = nn.Linear(2, 2)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        layer(gt.ones(1, 3))
    assert mode.scope is None


def test_observers_see_modules_enter_and_leave() -> None:
    net, seen = nn.Sequential(nn.ReLU()), []
    with gt.observe(lambda e: seen.append((type(e).__name__, e))):
        net(gt.ones(1))
    names = [
        f"{name} {event.scope.kind}"
        for name, event in seen
        if name.startswith("Module")
    ]
    assert names == [
        "ModuleEntered Sequential",
        "ModuleEntered ReLU",
        "ModuleLeft ReLU",
        "ModuleLeft Sequential",
    ]


# ---- containers ----


def test_sequential_behaves_as_a_list() -> None:
    def program(t: Any) -> Any:
        nn = t.nn
        net = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())
        parts = [repr(net[1:]), repr(net[-1]), len(net), repr(net + net), repr(net * 2)]
        net.append(nn.ELU())
        net.insert(1, nn.GELU())
        net.extend([nn.SELU()])
        parts.append(repr(net))
        del net[0]
        parts += [repr(net), repr(net.pop(-1)), repr(net)]
        net[0] = nn.Identity()
        net += nn.Sequential(nn.Mish())
        return [*parts, repr(net)]

    assert_same(program)


def test_lists_and_dicts_of_modules() -> None:
    def program(t: Any) -> Any:
        nn = t.nn
        listed = nn.ModuleList([nn.Linear(1, 1) for _ in range(3)])
        listed.insert(0, nn.ReLU())
        listed += [nn.Tanh()]
        parts = [repr(listed), repr(listed[1:3]), len(listed + listed)]
        named = nn.ModuleDict({"b": nn.ReLU(), "a": nn.Tanh()})
        named.update([("c", nn.Sigmoid())])
        named.pop("b")
        return [*parts, repr(named), list(named.keys()), "a" in named, len(named)]

    assert_same(program)


def test_lists_and_dicts_of_parameters() -> None:
    def program(t: Any) -> Any:
        nn = t.nn
        listed = nn.ParameterList([t.ones(2), t.zeros(1)])
        listed.append(t.ones(3))
        listed[0] = t.zeros(2)
        named = nn.ParameterDict({"b": t.ones(1), "a": t.zeros(1)})
        named.update({"c": t.ones(2)})
        merged = named | nn.ParameterDict({"d": t.ones(1)})
        popped = named.popitem()
        return [
            repr(listed),
            repr(listed[1:]),
            len(listed),
            repr(named),
            popped[0],
            list(merged.keys()),
            [n for n, _ in listed.named_parameters()],
            named.setdefault("z", t.ones(1)),
            named.get("q"),
        ]

    assert_same(program)
