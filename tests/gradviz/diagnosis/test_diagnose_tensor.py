"""diagnose(x): what a finished graph tells without a recording."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gradviz


def overwritten(lib: Any, x: Any) -> Any:
    y = x.exp()
    y.add_(1)
    return y.sum()


def walked(lib: Any, x: Any) -> Any:
    loss = (x * x).sum()
    loss.backward()
    return loss


FAULTS: dict[str, Callable[[Any, Any], Any]] = {
    "non-scalar-backward": lambda lib, x: x * x,
    "inplace-saved-output": overwritten,
    "freed-before-recording": walked,
    "root-without-graph": lambda lib, x: (x.detach() * 2).sum(),
}


@pytest.mark.parametrize("slug", FAULTS)
def test_what_backward_would_trip_over_is_found(lib: Any, slug: str):
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    loss = FAULTS[slug](lib, x)
    before = None if x.grad is None else x.grad.tolist()
    diagnosis = gradviz.diagnose(loss)
    assert {each.slug for each in diagnosis.findings} == {slug}
    assert diagnosis.explains
    assert (None if x.grad is None else x.grad.tolist()) == before


def test_a_sound_graph_has_no_findings_and_stays_usable(lib: Any):
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    loss = (x * x).sum()
    assert not gradviz.diagnose(loss)
    loss.backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_a_recorder_is_asked_itself_and_other_things_are_refused():
    recorder = gradviz.record()
    with recorder:
        pass
    assert gradviz.diagnose(recorder) is recorder.diagnose()
    with pytest.raises(gradviz.CaptureError, match="expected a tensor"):
        gradviz.diagnose([1.0])
