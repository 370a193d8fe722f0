"""A recording of a long evaluation: memory is bounded though no backward comes."""

from __future__ import annotations

from typing import Any

import gradtape as torch
from gradviz._capture.adapters.gradtape.graph_facts import ENGINE
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
