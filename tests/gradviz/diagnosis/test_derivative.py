"""check_derivative(): right formulas pass, wrong ones are told by entry and ratio."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import gradviz
from gradviz._capture import capture
from gradviz.services import services_of


def cube(lib: Any, factor: float) -> Any:
    class Cube(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * factor * x**2

    return Cube.apply


def test_a_right_derivative_agrees(lib: Any):
    report = gradviz.check_derivative(cube(lib, 3.0), lib.tensor([2.0, -1.0]))
    assert report
    assert repr(report) == "The derivative agrees with finite differences."


def test_a_wrong_one_is_told_by_entry_and_ratio(lib: Any):
    x = lib.tensor([[2.0, -1.0]], requires_grad=True)
    report = gradviz.check_derivative(cube(lib, 2.0), x)
    assert not report
    assert report.ratio == pytest.approx(2 / 3, rel=1e-4)
    assert repr(report).startswith("Input 0, element [0, 0]: backward gives 8, finite")
    assert x.grad is None


def test_an_error_of_three_hundredths_is_seen(lib: Any):
    assert not gradviz.check_derivative(cube(lib, 3.09), lib.tensor([2.0]))


def test_nothing_to_differentiate_is_said(lib: Any):
    with pytest.raises(gradviz.CaptureError, match="nothing to differentiate"):
        gradviz.check_derivative(lib.exp, lib.tensor([1, 2]))


# ---- one node of a graph ------------------------------------------------------------


def check(lib: Any, loss: Any, name: str) -> Any:
    """Ask for the check of the first node of this name, as a view does."""
    service = services_of(loss)["check"]
    nodes = capture(loss).nodes
    (row, *_) = [row for row, node in enumerate(nodes) if node.name.startswith(name)]
    service.answer({"node": row})
    state = service.state()
    assert state["node"] == row
    return state


def graph(lib: Any) -> tuple[Any, Any]:
    w = lib.tensor([[0.5, 1.5], [2.0, -1.0]], requires_grad=True)
    h = (w * 2).exp() @ w
    h = h.softmax(dim=1).sum(1).tanh()
    return w, cube(lib, 2.0)(h).sum()


@pytest.mark.parametrize(
    "name", ["Mul", "Exp", "Mm", "Softmax", "SumBackward1", "Tanh", "SumBackward0"]
)
def test_nodes_of_a_graph_are_checked_by_running_them_again(lib: Any, name: str):
    w, loss = graph(lib)
    state = check(lib, loss, name)
    assert state["said"] == "The derivative agrees with finite differences."
    assert state["agrees"]
    assert w.grad is None


def test_a_wrong_node_is_told_by_its_entries(lib: Any):
    _, loss = graph(lib)
    state = check(lib, loss, "Cube")
    assert not state["agrees"]
    assert [entry["place"] for entry in state["entries"]] == ["x[0]", "x[1]"]
    assert {entry["ratio"] for entry in state["entries"]} == {"0.6667"}


def test_a_node_that_was_freed_says_so(lib: Any):
    _, loss = graph(lib)
    loss.backward()
    said = check(lib, loss, "Exp")["said"]
    assert said.startswith("Not checked: An earlier backward() freed this node")


def test_arguments_that_nobody_kept_are_named(lib: Any):
    class Shift(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, amount: float) -> Any:
            return x + amount

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad, None

    x = lib.ones(2, requires_grad=True)
    said = check(lib, Shift.apply(x, 2.0).sum(), "Shift")["said"]
    assert "its forward took `amount`" in said.replace("Its", "its")


def test_a_graph_that_is_gone_says_so(lib: Any):
    _, loss = graph(lib)
    service = services_of(loss)["check"]
    del loss
    gc.collect()
    service.answer({"node": 0})
    assert "keep the tensor that was shown" in service.state()["said"]


def test_a_stepped_pass_can_be_checked_too(lib: Any):
    _, loss = graph(lib)
    with gradviz.step(loss) as stepper:
        stop = stepper.run_to("CubeBackward")
        service = stepper.services()["check"]
        service.answer({"node": stepper.row_of(stop.index)})
        assert service.state()["entries"][0]["ratio"] == "0.6667"


def test_an_input_that_is_no_contiguous_memory_is_checked(lib: Any):
    report = gradviz.check_derivative(lib.exp, lib.rand(2, 3).t())
    assert report


def test_a_recording_is_free_of_what_was_computed_to_check_a_function(lib: Any):
    class Square(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            ctx.save_for_backward(a)
            return a * a

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (a,) = ctx.saved_tensors
            return 2 * a * g

    w = lib.ones(4, requires_grad=True)
    engine = "gradtape" if lib.__name__ == "gradtape" else "torch"
    with gradviz.record(engine=engine) as rec:
        Square.apply(w).sum().backward()
    snapshot = rec.snapshot()
    names = [node.name for node in snapshot.nodes]
    assert names == ["AccumulateGrad", "SquareBackward", "SumBackward0"]
    begun = [event for event in snapshot.events if event.kind == "backward_begin"]
    assert len(begun) == 1
    assert not [event for event in snapshot.events if event.kind == "write"]
