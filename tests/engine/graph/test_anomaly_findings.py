"""What anomaly detection tells beyond PyTorch: lines, values, infinities, forward."""

from __future__ import annotations

import math
import sys
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import gradtape
from gradtape._graph.anomaly import stack_of

from .test_anomaly import NO_FORWARD, failure, off_afterwards  # noqa: F401 - a fixture

# ---- beyond PyTorch ----------------------------------------------------------------


def test_the_line_is_known_even_if_the_mode_was_off():
    x = gradtape.tensor([0.0], requires_grad=True)
    loss = (gradtape.sqrt(x) * 0).sum()

    def late() -> None:
        with gradtape.autograd.set_detect_anomaly(True):
            loss.backward()

    error, (warned,) = failure(gradtape, late)
    assert f"Error detected in SqrtBackward0. {NO_FORWARD}" in warned
    assert "loss = (gradtape.sqrt(x) * 0).sum()" in warned
    finding = error.gradtape_finding
    assert finding.site.text.strip() == "loss = (gradtape.sqrt(x) * 0).sum()"


def test_the_error_tells_index_and_operands():
    x = gradtape.tensor([[1.0, 4.0], [0.0, 9.0]], requires_grad=True)

    def run() -> None:
        with gradtape.autograd.set_detect_anomaly(True):
            y = x.sqrt() * gradtape.tensor([[1.0, 1.0], [0.0, 1.0]])
            y.sum().backward()

    error, _ = failure(gradtape, run)
    finding = error.gradtape_finding
    assert (finding.kind, finding.function) == ("nan", "SqrtBackward0")
    assert finding.index == (1, 0)
    assert finding.operands == {"grad": 0.0, "result": 0.0}
    assert any("at index (1, 0); there grad = 0.0" in n for n in error.__notes__)


def test_the_first_infinity_is_told_apart_from_the_nan():
    x = gradtape.tensor([0.0, 1.0], requires_grad=True)

    def run() -> None:
        with gradtape.autograd.set_detect_anomaly(True):
            y = x * 0
            y.log().sum().backward()

    error, _ = failure(gradtape, run)
    finding = error.gradtape_finding
    assert finding.function == "MulBackward0"
    before = finding.first_inf
    assert (before.kind, before.function) == ("inf", "LogBackward0")
    assert before.index == (0,)
    assert before.operands == {"grad": 1.0, "self": 0.0}


def test_operands_of_another_shape_are_summed_up():
    a = gradtape.tensor([[1.0, math.nan]], requires_grad=True)
    b = gradtape.ones(2, 3, requires_grad=True)

    def run() -> None:
        with gradtape.autograd.set_detect_anomaly(True):
            (a @ b).sum().backward()

    error, _ = failure(gradtape, run)
    operands = error.gradtape_finding.operands
    assert operands["grad"] == "<1x3, all finite>"
    assert operands["self"] == "<1x2, nan at (0, 1)>"


FORWARD_FAULTS: dict[str, tuple[Callable[[Any], Any], str, str]] = {
    "log": (lambda x: x.log(), "log", "inf"),
    "0 / 0": (lambda x: x / 0 * 0, "div", "nan"),
    "in place": (lambda x: x.clone().div_(0), "div_", "nan"),
    "general path": (lambda x: gradtape.ones(3, 2).div(x[:2]), "div", "inf"),
    "power": (lambda x: x**-1, "pow", "inf"),
}


@pytest.mark.parametrize("name", FORWARD_FAULTS)
def test_forward_is_checked_when_asked(name: str):
    make, op, kind = FORWARD_FAULTS[name]
    x = gradtape.tensor([0.0, 1.0, 2.0])
    with gradtape.autograd.set_detect_anomaly(True, check_forward=True):
        error, _ = failure(gradtape, lambda: make(x))
    assert str(error) == f"Op '{op}' returned {kind} values in its 0th output."
    finding = error.gradtape_finding
    assert finding.kind == kind
    assert finding.site.file == __file__
    make(x)  # and not when the mode is off


def test_an_infinity_put_in_on_purpose_is_nobodys_fault():
    scores = gradtape.zeros(2, 2, requires_grad=True)
    mask = gradtape.tensor([[False, True], [False, False]])
    with gradtape.autograd.set_detect_anomaly(True, check_forward=True):
        weights = scores.masked_fill(mask, -math.inf).softmax(-1)
        weights.sum().backward()
    assert weights.tolist() == [[1.0, 0.0], [0.5, 0.5]]


def test_a_forward_check_tells_the_operands():
    x = gradtape.tensor([[1.0, 2.0], [0.0, 0.0]])
    y = gradtape.tensor([[1.0, 2.0], [3.0, 0.0]])
    with gradtape.autograd.set_detect_anomaly(True, check_forward=True):
        error, _ = failure(gradtape, lambda: x / y)
    finding = error.gradtape_finding
    assert finding.index == (1, 1)
    assert finding.operands == {"self": 0.0, "other": 0.0}


# ---- stacks ------------------------------------------------------------------------


def lines_of(tensor: Any) -> list[str]:
    stack = stack_of(tensor.grad_fn)
    assert stack is not None
    return [site.text.strip() for site in stack if site.file == __file__]


def test_calls_of_one_function_from_two_places_keep_apart():
    x = gradtape.ones(2, requires_grad=True)

    def twice(t: Any) -> Any:
        first = t * 2
        return first * 3

    with gradtape.autograd.set_detect_anomaly(True):
        a = twice(x)
        b = twice(x)
        both_ends = [(a, "a = twice(x)"), (b, "b = twice(x)")]
    for tensor, call in both_ends:
        assert lines_of(tensor)[-2:] == [call, "return first * 3"]
        node = tensor.grad_fn.next_functions[0][0]
        assert [s.text.strip() for s in stack_of(node) or ()][-2:] == [
            call,
            "first = t * 2",
        ]


def test_a_generator_resumed_elsewhere_is_seen_there():
    x = gradtape.ones(2, requires_grad=True)

    def steps() -> Any:
        while True:
            yield x * 2

    running = steps()
    with gradtape.autograd.set_detect_anomaly(True):
        a = next(running)
        b = next(running)
    assert lines_of(a)[-2:] == ["a = next(running)", "yield x * 2"]
    assert lines_of(b)[-2:] == ["b = next(running)", "yield x * 2"]


@pytest.mark.parametrize("name", ["fast", "general", "view", "inplace"])
def test_every_way_to_record_keeps_the_stack(name: str):
    x = gradtape.ones(2, 2, requires_grad=True)
    with gradtape.autograd.set_detect_anomaly(True):
        made = {
            "fast": lambda: x * x,
            "general": lambda: x.sum(0),
            "view": lambda: x.t(),
            "inplace": lambda: (x * 1).mul_(x),
        }
        y = made[name]()
    assert "y = made[name]()" in lines_of(y)


@pytest.mark.usefixtures("no_collector")
def test_nothing_is_kept_alive_by_stacks_or_parents():
    class Mark:
        pass

    def run() -> tuple[Any, Any]:
        x = gradtape.randn(2, 2, requires_grad=True)
        y = x.exp()
        gradtape.autograd.grad(y, x, gradtape.ones(2, 2), create_graph=True)
        mark = Mark()
        y.grad_fn.metadata[0] = mark
        return y, weakref.ref(mark)

    with gradtape.autograd.set_detect_anomaly(True):
        kept, mark = run()
        assert mark() is not None
        del kept
        assert mark() is None


def test_a_debugger_may_start_while_stacks_are_kept():
    x = gradtape.ones(1, requires_grad=True)
    seen: list[str] = []
    before = sys.gettrace()

    def trace(frame: Any, event: str, arg: Any) -> Any:
        seen.append(event)
        return trace

    def inner() -> Any:
        return x * 3

    with gradtape.autograd.set_detect_anomaly(True):
        y = x * 2
        sys.settrace(trace)
        try:
            z = inner()
        finally:
            sys.settrace(before)
    assert "call" in seen
    assert lines_of(y)[-1] == "y = x * 2"
    assert lines_of(z)[-2:] == ["z = inner()", "return x * 3"]
