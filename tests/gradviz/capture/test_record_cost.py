"""What a recording keeps: bounded, and little for Python's collector to visit."""

from __future__ import annotations

import gc
from typing import Any

import gradtape as gt
import gradviz


def test_a_long_recording_does_not_grow():
    from gradviz._capture.adapters.gradtape.graph_facts import ENGINE
    from gradviz._capture.recorder.recorder import Recorder

    w = gt.ones(3, requires_grad=True)

    def sizes(steps: int) -> tuple[int, ...]:
        recorder = Recorder(ENGINE, values=False)
        recorder.begin(None)
        log: Any = recorder.log
        log.most = 100
        for _ in range(steps):
            (w * 2).exp().sum().backward()
        recorder.end(None)
        tables = log.program.raw, log.program.nodes, log.times, log.details.made
        return tuple(
            len(table) for table in (*tables, log.tensors.rows, log.reader.sizes)
        )

    few, many = sizes(400), sizes(1600)
    pairs = zip(few, many, strict=True)
    # Rows of what has died go by the hundreds.
    assert all(later <= max(2 * early, 250) for early, later in pairs)


def test_a_recorded_op_gives_the_collector_few_objects_to_visit():
    x = gt.ones(3, requires_grad=True)

    def objects(ops: int) -> int:
        gc.collect()
        before = len(gc.get_objects())
        with gradviz.record(engine="gradtape", findings=False) as recorder:
            hidden = x
            for _ in range(ops):
                hidden = hidden * 2.0
            hidden.sum().backward()
            del hidden
            (x * 2.0).sum().backward()  # what the step before held is let go of
            gc.collect()
            gc.collect()
            found = len(gc.get_objects())
        assert len(recorder.snapshot().nodes) > ops
        return found - before

    objects(1)
    assert (objects(300) - objects(100)) / 200 < 8
