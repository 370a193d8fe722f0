"""A recording of a long evaluation: memory is bounded though no backward comes."""

from __future__ import annotations

import pytest

import gradtape as torch
from gradviz._capture.adapters.gradtape import steps
from gradviz._capture.adapters.gradtape.recorder import Recorder


def test_events_without_a_graph_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "_MOST_EVENTS", 100)
    recorder = Recorder(title="evaluation")
    recorder.begin(None)
    w = torch.ones(2, requires_grad=True)
    (w * 2).sum().backward()
    with torch.no_grad():
        for _ in range(500):
            _ = w * 3
            assert len(recorder.kept.open.events) <= 101
            assert len(recorder._reader._tensors) <= 110
    recorder.end(None)
    snapshot = recorder.snapshot()
    assert "MulBackward0" in [node.name for node in snapshot.nodes]  # the step is kept
    assert any("long stretch without gradients" in note for note in snapshot.notes)
