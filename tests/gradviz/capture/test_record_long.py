"""Long recordings: memory is bounded, and the flow of gradients is whole."""

from __future__ import annotations

from typing import Any

import pytest

import gradtape as torch
from gradviz._capture.adapters.gradtape.graph_facts import ENGINE
from gradviz._capture.open_log import Engine, recorded_engine
from gradviz._capture.recorder.recorder import Recorder


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
