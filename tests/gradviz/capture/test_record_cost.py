"""What a recording keeps: bounded, and little for Python's collector to visit."""

from __future__ import annotations

import gc

import gradtape as gt
import gradviz


def test_a_long_recording_does_not_grow():
    from gradviz._capture.adapters.gradtape.recorder import Recorder

    w = gt.ones(3, requires_grad=True)

    def sizes(steps: int) -> tuple[int, ...]:
        recorder = Recorder(max_nodes=50, values=False)
        recorder.begin(None)
        for _ in range(steps):
            (w * 2).exp().sum().backward()
        recorder.end(None)
        reader = recorder._reader
        return len(reader._tensors), len(reader._storages), len(reader._leaves)

    assert sizes(400) == sizes(100)


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
