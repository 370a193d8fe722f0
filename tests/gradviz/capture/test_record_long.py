"""Long recordings: memory is bounded, and the flow of gradients is whole."""

from __future__ import annotations

from typing import Any, Literal

import pytest

import gradtape as torch
import gradviz
from gradviz._capture.adapters.gradtape.graph_facts import ENGINE
from gradviz._capture.open_log import Engine, recorded_engine
from gradviz._capture.recorder.recorder import Recorder
from gradviz._capture.recorder.steps import of_passes
from gradviz.program import Backward, Call, Event, OptimizerCall


def test_events_without_a_graph_are_bounded() -> None:
    recorder = Recorder(ENGINE, title="evaluation")
    recorder.begin(None)
    log: Any = recorder.log
    log.most = 100
    w = torch.ones(2, requires_grad=True)
    (w * 2).sum().backward()
    with torch.no_grad():
        for _ in range(500):
            _ = w * 3
            assert len(log.program.raw) <= 101
            assert len(log.tensors.rows) <= log.tensors.room
    recorder.end(None)
    snapshot = recorder.snapshot()
    assert "MulBackward0" in [node.name for node in snapshot.nodes]  # the step is kept
    assert any("long stretch without gradients" in note for note in snapshot.notes)


@pytest.mark.parametrize("engine", ["gradtape", "torch"])
def test_the_flow_outlives_the_events_that_go(engine: Engine, lib: Any) -> None:
    recorder = Recorder(recorded_engine(engine), title="training")
    recorder.begin(None)
    log: Any = recorder.log
    log.most = 100
    weight = lib.ones(1, requires_grad=True)
    optimizer = lib.optim.SGD([weight], lr=0.0)
    for step in range(200):
        optimizer.zero_grad()
        (weight * float(step)).sum().backward()
        optimizer.step()
    assert len(log.program.events) <= 101
    recorder.end(None)
    log.most = 10_000
    (weight * 7.0).sum().backward()  # after its end
    flow = recorder.snapshot().flow
    assert [point.norm for point in flow] == [float(step) for step in range(200)]
    assert all(step.stepped for step in recorder.snapshot().flow_steps)


@pytest.mark.parametrize("engine", ["gradtape", "torch"])
def test_the_first_odd_step_outlives_the_events_that_go(
    engine: Engine, lib: Any
) -> None:
    recorder = Recorder(recorded_engine(engine), title="training")
    recorder.begin(None)
    log: Any = recorder.log
    log.most = 100
    weight = lib.ones(2, requires_grad=True)
    for step in range(200):
        weight.grad = None
        zero = weight - weight.detach()
        (zero.abs().sum().sqrt() if step == 20 else zero.sum()).backward()
    recorder.end(None)
    passes = [e for e in log.program.events if isinstance(e, Backward)]
    odd = [e for e in passes if any(found.bad for _, found in e.at_leaves())]
    assert passes[:2] == [log.program.events[5], odd[0]]  # and the first of all
    assert len(passes) < 50  # of 200
    names = [log.program.nodes[key].name for key in odd[0].nodes]
    assert "SqrtBackward0" in names
    snapshot = recorder.snapshot()
    assert any(node.name == "SqrtBackward0" for node in snapshot.nodes)


@pytest.mark.parametrize("engine", ["gradtape", "torch"])
def test_what_learned_long_ago_is_not_told_as_cut_off(
    engine: Engine, lib: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = gradviz.record(engine=engine, detail="full")
    first, second = lib.nn.Linear(4, 4), lib.nn.Linear(4, 1)
    params = [*first.parameters(), *second.parameters()]
    optimizer = lib.optim.SGD(params, lr=0.01)
    with session:
        log: Any = session._parts[0].log
        log.most = 300
        for step in range(150):
            hidden = first(lib.ones(3, 4)).tanh()
            if step > 20:
                hidden = hidden.detach()
            optimizer.zero_grad()
            second(hidden).sum().backward()
            optimizer.step()
    passes = [e for e in log.program.events if isinstance(e, Backward)]
    # Of the earlier ones the first alone is there: it outlives the others.
    assert [len(each.leaves) for each in passes] == [4] + [2] * (len(passes) - 1)
    assert session.diagnose().findings == ()


def _found_without(engine: Engine, lib: Any, *, told: bool) -> list[str]:
    """Return what is found of turns whose middle is gone, from a turn's end on to where
    the gradients of a later one have just been cleared."""
    session = gradviz.record(engine=engine, detail="full")
    one, other = lib.nn.Linear(3, 3), lib.nn.Linear(3, 1)
    optimizers = [lib.optim.SGD(each.parameters(), lr=0.01) for each in (one, other)]
    with session:
        for _ in range(6):
            for optimizer in optimizers:
                optimizer.zero_grad()
                other(one(lib.full((2, 3), 0.1))).square().mean().backward()
                optimizer.step()
        program = session._parts[0].log.program
        events = list(program.events)
        calls = [e for e in events if isinstance(e, OptimizerCall)]
        steps = [events.index(e) for e in calls if e.what == "step"]
        clears = [events.index(e) for e in calls if e.what == "zero_grad"]
        program.drop(clears[7] + 1, events[: steps[1] + 1])
        assert len(program.gaps) == 1
        if not told:
            program.gaps.clear()
    return [finding.code for finding in session.diagnose().findings]


@pytest.mark.parametrize("engine", ["gradtape", "torch"])
def test_a_gap_in_the_log_is_no_gradient_that_was_not_cleared(
    engine: Engine, lib: Any
) -> None:
    assert "GV610" in _found_without(engine, lib, told=False)
    assert _found_without(engine, lib, told=True) == []


def test_a_step_that_stays_has_what_came_before_its_inner_derivative() -> None:
    def passed(index: int, api: Literal["backward", "grad"]) -> Backward:
        return Backward(index=index, api=api)

    def event(index: int) -> Event:
        return Event(index=index)

    run = [
        event(0), passed(1, "backward"),
        event(2), passed(3, "grad"), event(4), passed(5, "backward"),
        event(6), passed(7, "grad"), event(8), passed(9, "backward"),
    ]  # fmt: skip
    assert [each.index for each in of_passes(run, {5})] == [2, 3, 4, 5]
    assert [each.index for each in of_passes(run, {1, 7})] == [0, 1, 6, 7]


@pytest.mark.parametrize("engine", ["gradtape", "torch"])
def test_how_parameters_were_made_outlives_calls_without_a_graph(
    engine: Engine, lib: Any
) -> None:
    recorder = Recorder(recorded_engine(engine), title="training")
    recorder.begin(None)
    log: Any = recorder.log
    log.most = 400
    for _ in range(300):
        lib.ones(2) * 2
    made = 0.5 * lib.ones(1)
    weight = lib.nn.Parameter(made)
    optimizer = lib.optim.SGD([weight], lr=0.0)
    for _ in range(3):
        weight.sum().backward()
        optimizer.step()
    for _ in range(900):
        _ = lib.ones(2) * 3
    recorder.end(None)
    first = next(e for e in log.program.events if isinstance(e, Backward))
    begun = [each for each in log.program.events if each.index < first.index]
    key = log.tensors.known(made)
    assert any(v.tensor == key for e in begun if isinstance(e, Call) for v in e.outputs)
