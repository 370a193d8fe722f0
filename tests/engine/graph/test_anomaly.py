"""Anomaly detection: PyTorch's words, and what only this engine can tell."""

from __future__ import annotations

import io
import math
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import gradtape

from ..oracle import assert_same

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
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    x = gradtape.tensor([0.0], requires_grad=True)
    with warnings.catch_warnings(), gradtape.autograd.set_detect_anomaly(True):
        warnings.simplefilter("error")
        loss = (x.sqrt() * 0).sum()
        with pytest.raises(RuntimeError, match="SqrtBackward0"):
            loss.backward()
    assert "Error detected in SqrtBackward0" in written.getvalue()


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


def test_nodes_tell_their_traceback_and_what_induced_them():
    def notes(t: Any) -> Any:
        x = t.ones(2, requires_grad=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with t.autograd.detect_anomaly():
                y = x * 2
                z = y.exp()
                (g,) = t.autograd.grad(z.sum(), x, create_graph=True)
        own, again = y.grad_fn.metadata, g.grad_fn.metadata
        line = own["traceback_"][-1]
        parent = again["parent_"].name()
        return list(own), line, list(again), parent, (x * 2).grad_fn.metadata

    assert_same(notes)
