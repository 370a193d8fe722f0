"""What the program log of gradtape says about single calls, modes and hooks."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import gradtape as torch
from gradviz._capture.open_log import open_log
from gradviz.program.events import (
    Backward,
    Call,
    HookRan,
    HookRegistered,
    ModeSwitched,
    Raised,
)
from gradviz.program.places import Places
from tests.gradviz.capture.gradtape.gradtape_logs import calls, leaf, logged, of

# ---- calls --------------------------------------------------------------------------


def test_operators_and_functions_are_logged_by_their_ops() -> None:
    def run() -> None:
        x = leaf(1.0, 2.0)
        y = 2 - x * x / 3
        y += 1
        y[0].exp().sum().item()

    assert [call.op for call in calls(logged(run))] == [
        *("tensor", "mul", "div", "rsub", "add_", "__getitem__", "exp", "sum", "item")
    ]


def test_a_call_has_its_tensors_before_and_after_it() -> None:
    def run() -> None:
        x = torch.ones(2, 3)
        x.mul_(2).t()

    program = logged(run)
    (made,), (written,), (view,) = (calls(program, op) for op in ("ones", "mul_", "t"))
    assert [value.version for value in (*written.inputs, *written.outputs)] == [0, 1]
    assert written.inputs[0].tensor == written.outputs[0].tensor
    assert made.outputs[0].storage == view.outputs[0].storage
    assert view.outputs[0].shape == (3, 2)
    assert view.outputs[0].strides == (1, 3)
    assert view.outputs[0].is_view


def test_arguments_are_plain() -> None:
    def run() -> None:
        x = torch.zeros(2, dtype=torch.float64)
        torch.stack([x, x], dim=0)
        torch.tensor([[1, 2], [3, 4]])

    program = logged(run)
    assert calls(program, "zeros")[0].keywords == {"dtype": "float64"}
    (stack,) = calls(program, "stack")
    assert stack.arguments == ((stack.inputs[0], stack.inputs[1]),)
    assert stack.keywords == {"dim": 0}
    assert calls(program, "tensor")[0].arguments == (((1, 2), (3, 4)),)


def test_one_call_has_all_nodes_made_inside() -> None:
    def run() -> Any:
        x = torch.ones(3, 2, requires_grad=True)
        return torch.nn.functional.cross_entropy(x, torch.tensor([0, 1, 0]))

    program = logged(run)
    (call,) = calls(program, "cross_entropy")
    names = [program.nodes[key].name for key in call.nodes]
    assert names == ["NllLossBackward0", "LogSoftmaxBackward0"]
    assert {program.nodes[key].call for key in call.nodes} == {call.index}


def test_a_refused_call_has_its_inputs_and_the_error() -> None:
    def run() -> None:
        _ = torch.ones(2, 3) @ torch.ones(2, 3)

    program = logged(run)
    call = calls(program)[-1]
    assert call.op == "matmul"
    assert [value.shape for value in call.inputs] == [(2, 3), (2, 3)]
    assert call.error is not None
    assert call.error.startswith("RuntimeError: mat1 and mat2 shapes cannot be")
    (raised,) = of(program, Raised)
    assert raised.kind == "RuntimeError"
    assert raised.site == call.site


def test_a_refused_call_is_logged_where_the_program_goes_on() -> None:
    def run() -> None:
        with pytest.raises(RuntimeError):
            leaf(1.0).numpy()

    program = logged(run)
    (call,) = calls(program, "numpy")
    assert call.error is not None
    assert "Can't call numpy() on Tensor that requires grad" in call.error
    assert of(program, Raised) == []


def test_sites_are_lines_of_the_program() -> None:
    def inner(x: Any) -> Any:
        return torch.nn.Linear(2, 2)(x).relu()

    def run() -> None:
        inner(torch.ones(1, 2))

    program, places = logged(run), Places()
    (call,) = calls(program, "linear")
    assert call.site is not None
    assert places.expression(call.site) == "torch.nn.Linear(2, 2)(x)"
    assert places.expression(call.stack[0]) == "inner(torch.ones(1, 2))"
    assert [program.nodes[key].site for key in call.nodes] == [call.site] * 2


def test_attributes_that_matter_are_calls() -> None:
    def run() -> None:
        x = leaf(1.0, 2.0)
        assert x.grad is None
        x.data = torch.zeros(3)
        x.data.fill_(1)
        x.requires_grad = False
        x.grad = None

    program = logged(run)
    ops = ["grad.get", "zeros", "data.set", "data.get", "fill_", "requires_grad.set"]
    assert [call.op for call in calls(program)][1:] == [*ops, "grad.set"]
    given, (put,), (got,) = (calls(program, op) for op in ("zeros", *ops[2:4]))
    assert put.outputs[0].storage == given[0].outputs[0].storage
    assert got.outputs[0].storage == put.outputs[0].storage
    assert calls(program, "grad.set")[0].arguments[-1] is None
    assert not calls(program, "requires_grad.set")[0].outputs[0].requires_grad


def test_constructors_are_calls() -> None:
    def run() -> None:
        make: Any = torch.Tensor
        make([1, 2])
        torch.FloatTensor([3])
        torch.nn.Parameter(torch.tensor([1]))

    program = logged(run)
    assert [call.op for call in calls(program)] == [
        *("Tensor", "FloatTensor", "tensor", "Parameter")
    ]
    assert "floating point" in (calls(program, "Parameter")[0].error or "")


def test_results_that_are_no_tensors_are_kept() -> None:
    def run() -> None:
        x = torch.tensor([1.5, 2.5])
        x.tolist()
        float(x[0])
        bool(x.sum() > 3)

    program = logged(run)
    results = [
        call.result for call in calls(program, "tolist", "__float__", "__bool__")
    ]
    assert results == [(1.5, 2.5), 1.5, True]


def test_printing_is_no_call() -> None:
    program = logged(lambda: repr(torch.ones(2)) + f"{torch.tensor(1.0)}")
    assert [call.op for call in calls(program)] == ["ones", "tensor"]


def test_rows_of_a_tensor_are_its_views() -> None:
    def run() -> None:
        for row in torch.ones(2, 2):
            row.sum()

    program = logged(run)
    (unbind,) = calls(program, "unbind")
    assert [call.inputs[0].tensor for call in calls(program, "sum")] == [
        value.tensor for value in unbind.outputs
    ]


# ---- writes -------------------------------------------------------------------------


def test_every_write_is_on_a_call() -> None:
    def run() -> None:
        x = torch.zeros(4)
        torch.nn.functional.relu(x, inplace=True)
        torch.add(x, 1, out=x)
        torch.nn.init.ones_(x)
        x[1:3] = 5

    program = logged(run)
    writes = [
        (call.op, w.before, w.after) for call in calls(program) for w in call.writes
    ]
    assert writes == [
        *(("relu", 0, 1), ("add", 1, 2), ("ones_", 2, 3)),
        ("__setitem__", 3, 4),
    ]


def test_a_write_by_index_says_which_elements() -> None:
    def run() -> None:
        x = torch.zeros(4, 4)
        x[1, 2:] = 1
        x[torch.tensor([0, 1])] = 2

    program = logged(run)
    part, whole = (call.writes[0].value for call in calls(program, "__setitem__"))
    assert (part.shape, part.strides, part.offset) == ((2,), (1,), 6)
    assert whole.shape == (4, 4)


# ---- modes and hooks ----------------------------------------------------------------


def test_switches_of_grad_mode_have_the_lines_that_made_them() -> None:
    @torch.no_grad()
    def evaluate() -> Any:
        return torch.ones(1) * 2

    def run() -> None:
        with torch.inference_mode():
            pass
        torch.set_grad_enabled(False)
        torch.set_grad_enabled(True)
        evaluate()

    switches = of(logged(run), ModeSwitched)
    assert [(s.how, s.enabled, s.leaving) for s in switches] == [
        ("inference_mode", False, False),
        ("inference_mode", True, True),
        ("set_grad_enabled", False, False),
        ("set_grad_enabled", True, False),
        ("no_grad", False, False),
        ("no_grad", True, True),
    ]
    assert {s.function for s in switches[-2:]} == {evaluate.__wrapped__.__code__}
    assert Places().expression(switches[-2].site) == "evaluate()"


def test_hooks_are_logged_when_registered_and_when_they_run() -> None:
    def double(scale: Any, grad: Any) -> Any:
        return grad.mul_(scale)

    def run() -> None:
        x = leaf(1.0, 2.0)
        y = x * x
        y.register_hook(partial(double, torch.tensor(2.0)))
        x.register_hook(print).remove()
        (y * y).sum().backward()

    program = logged(run)
    kept, removed = of(program, HookRegistered)
    assert (kept.kind, kept.removed, removed.removed) == ("tensor", False, True)
    assert kept.code is double.__code__
    assert [value.text for value in kept.holds] == ["2."]
    (ran,) = of(program, HookRan)
    assert (ran.hook, ran.changed, ran.returned) == (kept.hook, True, True)
    (inside,) = calls(program, "mul_")
    assert inside.within == of(program, Backward)[0].index


def test_arrays_and_tensors_over_one_memory_share_its_number() -> None:
    array = np.zeros(3)

    def run() -> None:
        torch.from_numpy(array)
        torch.from_numpy(array[1:])

    first, second = calls(logged(run), "from_numpy")
    assert first.outputs[0].storage == second.outputs[0].storage


def test_of_logs_within_each_other_the_last_is_told_each_write_once():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, count):
            count.add_(1)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2, None

    x, count = torch.ones(2, requires_grad=True), torch.zeros(())
    with open_log("gradtape"), open_log("gradtape") as log:
        Twice.apply(x * 1, count).sum().backward()
    told = of(log.program, Call)
    ops = [(each.op, len(each.writes)) for each in told[:4]]
    assert ops == [("mul", 0), ("Twice", 0), ("add_", 1), ("mul", 0)]
    assert [each.op for each in told[4:]] == ["sum", "mul"]  # and no derivative's check
