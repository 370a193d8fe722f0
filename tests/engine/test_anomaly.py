"""Anomaly detection: PyTorch's words, and what only this engine can tell."""

from __future__ import annotations

import gc
import io
import math
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import gradtape
from gradtape._anomaly import stack_of

from .oracle import assert_same

FORWARD = "Traceback of forward call that caused the error"
NO_FORWARD = "No forward pass information available"


@pytest.fixture(autouse=True)
def off_afterwards():
    yield
    gradtape.autograd.set_detect_anomaly(False)


def failure(t: Any, run: Callable[[], Any]) -> tuple[Any, list[str]]:
    """Return what a run raised and the warnings it gave, C++ notes left out."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises((RuntimeError, ValueError)) as raised:
            run()
    texts = [str(w.message).split(" (Triggered internally")[0] for w in caught]
    return raised.value, [text.strip() for text in texts]


def engines() -> list[Any]:
    return [gradtape, pytest.importorskip("torch")]


def both(program: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Return a failing program's error and warnings under both engines."""
    ours, theirs = (failure(t, lambda t=t: program(t)) for t in engines())
    assert str(ours[0]) == str(theirs[0])
    assert type(ours[0]) is type(theirs[0])
    return ours, theirs


def user_part(text: str) -> str:
    """Return a warning without the frames of PyTorch's own Python files."""
    lines = text.splitlines()
    kept: list[str] = []
    for number, line in enumerate(lines):
        above = lines[number - 1] if number else ""
        if "site-packages/torch" not in line and "site-packages/torch" not in above:
            kept.append(line)
    return "\n".join(kept)


# ---- the mode ----------------------------------------------------------------------


def test_the_mode_says_what_it_costs_and_ends_with_its_block():
    def program(t: Any) -> Any:
        seen = [t.is_anomaly_enabled(), t.is_anomaly_check_nan_enabled()]
        with t.autograd.detect_anomaly(check_nan=False):
            seen += [t.is_anomaly_enabled(), t.is_anomaly_check_nan_enabled()]
            with t.autograd.set_detect_anomaly(False):
                seen += [t.is_anomaly_enabled(), t.is_anomaly_check_nan_enabled()]
            seen += [t.is_anomaly_enabled(), t.is_anomaly_check_nan_enabled()]
        return [*seen, t.is_anomaly_enabled(), t.is_anomaly_check_nan_enabled()]

    assert_same(program)


def test_set_detect_anomaly_acts_when_it_is_called():
    def program(t: Any) -> Any:
        t.autograd.set_detect_anomaly(True, check_nan=False)
        on = t.is_anomaly_enabled(), t.is_anomaly_check_nan_enabled()
        t.autograd.set_detect_anomaly(False)
        return on, t.is_anomaly_enabled(), t.is_anomaly_check_nan_enabled()

    assert_same(program)


def test_the_mode_holds_for_threads_that_run_already():
    x = gradtape.tensor([0.0], requires_grad=True)
    begin, errors = threading.Event(), []

    def work() -> None:
        begin.wait()
        errors.append(failure(gradtape, lambda: (x.sqrt() * 0).backward()))

    thread = threading.Thread(target=work)
    thread.start()
    with gradtape.autograd.set_detect_anomaly(True):
        begin.set()
        thread.join()
    error, (warned,) = errors[0]
    assert "SqrtBackward0" in str(error)
    assert "(x.sqrt() * 0).backward()" in warned


# ---- NaN in backward ---------------------------------------------------------------


def test_the_first_nan_is_refused_with_the_forward_stack():
    def program(t: Any) -> None:
        def root(x: Any) -> Any:
            return t.sqrt(x)

        with t.autograd.detect_anomaly():
            x = t.tensor([0.0, 1.0], requires_grad=True)
            loss = (root(x) * 0).sum()
            loss.backward()

    (_, ours), (_, theirs) = both(program)
    assert ours[0] == theirs[0]
    assert user_part(ours[1]).split("line")[0] == user_part(theirs[1]).split("line")[0]
    for line in ("loss = (root(x) * 0).sum()", "return t.sqrt(x)"):
        assert line in ours[1]
        assert line in theirs[1]
    inner = ours[1].index("return t.sqrt(x)")
    assert ours[1].index("loss = (root") < inner  # outermost first


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "sqrt": lambda t: (t.zeros(2, requires_grad=True).sqrt() * 0).sum().backward(),
    "incoming": lambda t: (t.zeros(2, requires_grad=True) * 2).backward(
        t.tensor([math.nan, 0.0])
    ),
    "second operand": lambda t: (
        t.ones(1) * math.nan * t.ones(1, requires_grad=True)
    ).backward(),
    "complex": lambda t: (
        (t.tensor([1 + 1j], requires_grad=True) * complex(0, math.nan))
        .abs()
        .sum()
        .backward()
    ),
    "create_graph": lambda t: t.autograd.grad(
        (t.zeros(2, requires_grad=True).sqrt() * 0).sum(),
        t.zeros(2, requires_grad=True),
        create_graph=True,
        allow_unused=True,
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_nan_is_found_where_pytorch_finds_it(name: str):
    def program(t: Any) -> Any:
        with t.autograd.set_detect_anomaly(True):
            return PROGRAMS[name](t)

    assert_same(program)


def test_an_infinity_alone_passes():
    def program(t: Any) -> Any:
        with t.autograd.set_detect_anomaly(True):
            x = t.zeros(2, requires_grad=True)
            x.log().sum().backward()
        return x.grad

    assert_same(program)


def test_a_large_finite_gradient_passes():
    """Its scalar product with itself overflows; that is no reason to refuse it."""

    def program(t: Any) -> Any:
        with t.autograd.set_detect_anomaly(True):
            x = t.ones(5, requires_grad=True)
            (x * 1e30).sum().backward()
        return x.grad

    assert_same(program)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(), (1,), (3, 4)])
def test_every_dtype_and_shape_is_looked_at(dtype: str, shape: tuple[int, ...]):
    def program(t: Any) -> Any:
        x = t.zeros(shape, dtype=getattr(t, dtype), requires_grad=True)
        with t.autograd.set_detect_anomaly(True):
            (x.sqrt() * 0).sum().backward()

    assert_same(program)


def test_without_check_nan_the_nan_goes_through():
    def program(t: Any) -> Any:
        x = t.zeros(2, requires_grad=True)
        with t.autograd.set_detect_anomaly(True, check_nan=False):
            (x.sqrt() * 0).sum().backward()
        return x.grad

    assert_same(program)


def test_a_function_that_returns_nan_is_named_with_its_output():
    def program(t: Any) -> None:
        class Split(t.autograd.Function):
            @staticmethod
            def forward(ctx: Any, a: Any, b: Any) -> Any:
                return a + b

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad, grad * math.nan

        with t.autograd.detect_anomaly():
            x = t.ones(3, requires_grad=True)
            y = Split.apply(x, x)
            y.sum().backward()

    (error, ours), _ = both(program)
    assert "'SplitBackward' returned nan values in its 1th output." in str(error)
    assert "y = Split.apply(x, x)" in ours[1]


# ---- other errors ------------------------------------------------------------------


def test_any_error_in_backward_shows_the_forward_call():
    def program(t: Any) -> None:
        with t.autograd.detect_anomaly():
            a = t.ones(3, requires_grad=True)
            b = a + 1
            c = b**2
            b += 1
            c.sum().backward()

    (_, ours), (_, theirs) = both(program)
    assert len(ours) == len(theirs) == 2
    for texts in (ours, theirs):
        assert "Error detected in PowBackward0" in texts[1]
        assert "c = b**2" in texts[1]


def test_an_error_of_a_hook_is_told_too():
    def program(t: Any) -> None:
        def fail(grad: Any) -> None:
            raise ValueError("no")

        with t.autograd.detect_anomaly():
            x = t.ones(3, requires_grad=True)
            y = x * 2
            y.register_hook(fail)
            y.sum().backward()

    (_, ours), _ = both(program)
    assert "Error detected in MulBackward0" in ours[1]


def test_a_warning_made_an_error_is_printed_instead(monkeypatch: Any):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    x = gradtape.tensor([0.0], requires_grad=True)
    with warnings.catch_warnings(), gradtape.autograd.set_detect_anomaly(True):
        warnings.simplefilter("error")
        loss = (x.sqrt() * 0).sum()
        with pytest.raises(RuntimeError, match="SqrtBackward0"):
            loss.backward()
    assert "Error detected in SqrtBackward0" in sys.stderr.getvalue()


def test_a_backward_of_a_backward_names_what_induced_it():
    def program(t: Any) -> None:
        class Outer(t.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.save_for_backward(x)
                return x.sum()

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                (x,) = ctx.saved_tensors
                return Inner.apply(grad * x)

        class Inner(t.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad * math.nan

        with t.autograd.detect_anomaly():
            x = t.ones(3, requires_grad=True)
            y = Outer.apply(x)
            (g,) = t.autograd.grad(y, x, create_graph=True)
            g.sum().backward()

    (_, ours), (_, theirs) = both(program)
    assert len(ours) == len(theirs) == 3
    assert ours[2].splitlines()[0] == theirs[2].splitlines()[0]
    assert "Previous calculation was induced by OuterBackward." in ours[2]
    assert "return Inner.apply(grad * x)" in ours[1]
    assert "y = Outer.apply(x)" in ours[2]


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

    gc.disable()
    try:
        with gradtape.autograd.set_detect_anomaly(True):
            kept, mark = run()
            assert mark() is not None
            del kept
            assert mark() is None
    finally:
        gc.enable()


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
