"""Hooks in a snapshot are those that the user wrote, on every kind of node."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

import gradviz
from gradviz import ir


def on_module(module: Any, grad_input: Any, grad_output: Any) -> None:
    pass


def before_module(module: Any, grad_output: Any) -> None:
    pass


def on_leaf(grad: Any) -> None:
    pass


def after_leaf(leaf: Any) -> None:
    pass


def hooked(lib: Any, *, inputs_need_gradients: bool) -> ir.Snapshot:
    nn = lib.nn
    net = nn.Sequential(nn.Linear(3, 4, bias=False), nn.Tanh())
    net[0].register_full_backward_hook(on_module)
    net[1].register_full_backward_pre_hook(before_module)
    net[0].weight.register_hook(on_leaf)
    net[0].weight.register_post_accumulate_grad_hook(after_leaf)
    x = lib.ones(2, 3, requires_grad=inputs_need_gradients)
    with gradviz.record() as recorder:
        net(x).sum().backward()
    return recorder.snapshot()


def shown(snapshot: ir.Snapshot) -> list[tuple[str, str, str]]:
    """Return the node, the name of the hook and the line that defines it."""
    found: list[tuple[str, str, str]] = []
    for node in snapshot.nodes:
        for name, row in zip(node.hooks, node.hook_sites, strict=True):
            found.append((node.name, name, snapshot.sites[row].text))
    return found


def test_nodes_of_modules_name_the_hooks_of_the_user(lib: Any):
    found = shown(hooked(lib, inputs_need_gradients=True))
    node = "BackwardHookFunctionBackward"
    wrote = {name: text for each, name, text in found if each == node}
    assert set(wrote) == {"on_module", "before_module"}
    assert wrote["on_module"].startswith("def on_module(module")
    assert wrote["before_module"].startswith("def before_module(module")


@pytest.mark.filterwarnings("ignore:Full backward hook is firing")
def test_a_module_whose_inputs_need_no_gradient_calls_its_hooks_at_its_outputs(
    lib: Any,
):
    found = shown(hooked(lib, inputs_need_gradients=False))
    names = [name for each, name, _ in found if each.startswith("BackwardHook")]
    assert sorted(names) == ["before_module", "on_module"]


def test_hooks_that_a_leaf_had_before_the_recording_are_named(lib: Any):
    found = shown(hooked(lib, inputs_need_gradients=True))
    leaf = [name for node, name, _ in found if node == "AccumulateGrad"]
    assert sorted(leaf) == ["after_leaf", "on_leaf"]


def test_the_timeline_says_the_hooks_of_the_user_ran():
    gradtape = importlib.import_module("gradtape")
    events = hooked(gradtape, inputs_need_gradients=True).events
    ran = [event.text for event in events if event.kind == "hook"]
    assert (ran[0], ran[-1]) == ("before_module", "on_module")
    assert sorted(ran[1:-1]) == ["after_leaf", "on_leaf"]
