"""The bar's side of step(): its state, its commands, and its errors as sentences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import gradviz
from gradviz import widget
from gradviz.services import Services
from gradviz.widget import GradvizWidget
from tests.gradviz.hosts.notebooks import kept_comms


def begin(lib: Any) -> tuple[Any, Any, Services]:
    x = lib.tensor([3.0, 4.0], requires_grad=True)
    stepper = gradviz.step((x * x).sum())
    return x, stepper, Services(stepper.services())


def ask(services: Services, command: str, **arguments: Any) -> Any:
    """Send a command and return the bar's state, which must be JSON."""
    number = services.states()["answered"] + 1
    request = {"service": "stepping", "command": command, "number": number}
    assert services.answer(request | arguments)
    states = services.states()
    assert states["answered"] == number
    return json.loads(json.dumps(states, allow_nan=False))["stepping"]


def test_the_state_says_where_and_what_waits(lib: Any):
    _, stepper, services = begin(lib)
    stop = ask(services, "step")["stop"]
    assert (stop["number"], stop["total"], stop["name"]) == (1, 3, "MulBackward0")
    assert stepper.snapshot().nodes[stop["node"]].name == "MulBackward0"
    (gradient,) = stop["gradients"]
    assert gradient["words"] == "float32 (2,), norm 1.414"
    assert gradient["values"] == "tensor([1., 1.])"
    leaf = ask(services, "step")["stop"]
    assert leaf["leaf"] == "x"
    over = ask(services, "resume")
    assert over["stop"] is None
    assert over["outcome"] == "The pass is over: 3 nodes ran."


def test_breakpoints_run_to_and_abort(lib: Any):
    x, stepper, services = begin(lib)
    state = ask(services, "break", above=5)
    assert state["breakpoints"] == ["norm above 5"]
    stop = ask(services, "resume")["stop"]
    assert (stop["name"], stop["reason"]) == ("AccumulateGrad", "norm above 5")
    assert ask(services, "clear", which=0)["breakpoints"] == []
    error = ask(services, "run_to", node=stepper.row_of(0))["error"]
    assert error == "That node has run already."
    state = ask(services, "abort")
    assert state["error"] == ""
    assert state["outcome"] == "The pass was given up; every .grad is as it was."
    assert x.grad is None


@pytest.mark.parametrize(
    ("how", "value", "grads"),
    [("zero", 0, [0, 0]), ("scale", 2, [12, 16]), ("clip", 1, [4.2426, 5.6569])],
)
def test_the_gradient_can_be_changed(lib: Any, how: str, value: float, grads: Any):
    x, stepper, services = begin(lib)
    ask(services, "step")
    state = ask(services, "change", how=how, value=value)
    assert state["error"] == ""
    assert stepper.stop.incoming[0].norm == pytest.approx(
        {"zero": 0, "scale": 8**0.5, "clip": 1}[how]
    )
    ask(services, "resume")
    assert x.grad.tolist() == pytest.approx(grads, abs=1e-3)


def test_what_cannot_be_done_is_one_sentence(lib: Any):
    _, stepper, services = begin(lib)
    assert "There is no command 'tea'" in ask(services, "tea")["error"]
    state = ask(services, "change", how="scale", value="nan")
    assert state["error"] == "A gradient cannot be scaled by nan."
    assert "A breakpoint needs a condition" in ask(services, "break")["error"]
    assert not services.answer({"service": "tea"})
    assert not services.answer("bundle")
    stepper.abort()


def test_an_error_of_the_pass_is_its_outcome(lib: Any):
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    stepper = gradviz.step(y.sum())
    with lib.no_grad():
        y.add_(1)
    state = ask(Services(stepper.services()), "resume")
    assert state["outcome"].startswith("The pass failed: RuntimeError: one of the var")
    assert (state["stop"], state["error"]) == (None, "")


def test_at_a_stop_the_picture_has_all_statistics(lib: Any):
    _, stepper, services = begin(lib)
    ask(services, "step")
    stop = stepper.stop
    node = stepper.snapshot().nodes[stepper.row_of(stop.index)]
    statistics = stepper.snapshot().statistics[node.grad_outputs[0]]
    assert (statistics.minimum, statistics.maximum, statistics.mean) == (1, 1, 1)
    assert sum(statistics.histogram) == 2
    stepper.abort()


def test_the_widget_syncs_the_bar_and_lets_go_of_the_pass(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    import gradtape

    stub = tmp_path / "widget.js"
    stub.write_text("export default {};", encoding="utf-8")
    monkeypatch.setattr(widget, "STUB", stub)
    _, stepper, _ = begin(gradtape)
    with kept_comms(monkeypatch):
        shown = GradvizWidget(stepper)
        assert shown._services["stepping"]["stop"]["number"] == 0
        content = {"service": "stepping", "command": "step", "number": 1}
        message = {"method": "custom", "content": content}
        shown._handle_msg({"content": {"data": message}, "buffers": []})
        assert shown._services["answered"] == 1
        assert shown._services["stepping"]["stop"]["number"] == 1
        shown.close()
    del message, content
    assert not shown._answers.answer({"service": "stepping", "command": "step"})
    stepper.abort()
