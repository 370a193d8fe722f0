"""The view's side of what_if(): rows of a snapshot, sentences, state as JSON."""

from __future__ import annotations

import gc
import json
import sys
from typing import Any

import pytest

import gradviz
from gradviz.services import Services, services_of


def ask(services: Services, command: str, **arguments: Any) -> Any:
    """Send a command and return the state, which must be JSON."""
    assert services.answer({"service": "what_if", "command": command} | arguments)
    return json.loads(json.dumps(services.states(), allow_nan=False))["what_if"]


def row_of(snapshot: gradviz.ir.Snapshot, name: str) -> int:
    return [node.name for node in snapshot.nodes].index(name)


def test_changes_at_rows_add_up_and_are_taken_back(
    lib: Any, monkeypatch: pytest.MonkeyPatch
):
    w = lib.tensor([3.0, 4.0], requires_grad=True)
    monkeypatch.setattr(sys.modules["__main__"], "w", w, raising=False)
    penalty = (w * w).mean()
    loss = w.exp().sum() + penalty
    snapshot = gradviz.capture(loss)
    services = Services(services_of(loss))
    assert set(services.states()) == {"answered", "check", "what_if", "values"}
    mean = row_of(snapshot, "MeanBackward0")
    state = ask(services, "add", how="without", of="node", row=mean)
    assert state["error"] == ""
    assert state["changes"] == ["without MeanBackward0"]
    (arrival,) = state["rows"]
    assert (arrival["name"], arrival["did"], arrival["would"]) == (
        "w",
        "62.98",
        "58.18",
    )
    edge = next(
        n
        for n, each in enumerate(snapshot.edges)
        if each.target == row_of(snapshot, "ExpBackward0")
    )
    state = ask(services, "add", how="scale", of="edge", row=edge, value=0.5)
    assert state["rows"][0]["would"] == "29.09"
    leaf = row_of(snapshot, "AccumulateGrad")
    state = ask(services, "add", how="cut", of="node", row=leaf)
    assert state["rows"][0]["would"] == "–"
    assert len(ask(services, "undo")["changes"]) == 2
    assert ask(services, "clear") == {
        "changes": [],
        "rows": [],
        "hooks": [],
        "error": "",
    }


def test_a_cut_of_a_recording_is_taken_away(lib: Any):
    """The recording knows what took the value, though no node kept it."""
    encoder = lib.tensor([2.0], requires_grad=True)
    head = lib.tensor([5.0], requires_grad=True)
    with gradviz.record() as rec:
        h = encoder * 3.0
        loss = (h.detach() - head + 0.1 * h).sum()
        loss.backward(retain_graph=True)
    services = Services(services_of(rec))
    snapshot = rec.snapshot()
    cut = next(n for n, node in enumerate(snapshot.nodes) if node.kind == "cut")
    state = ask(services, "add", how="uncut", of="node", row=cut)
    assert state["error"] == ""
    found = {each["name"]: each for each in state["rows"]}
    assert (found["encoder"]["did"], found["encoder"]["would"]) == ("0.3", "3.3")
    assert (found["head"]["did"], found["head"]["would"]) == ("1", "1")
    assert encoder.grad.tolist() == pytest.approx([0.3])


def test_what_cannot_be_answered_is_one_sentence(lib: Any):
    w = lib.tensor([3.0, 4.0], requires_grad=True)
    with gradviz.record() as rec:
        loss = (w * w).sum()
        loss.backward()
    services = Services(services_of(rec))
    node = row_of(rec.snapshot(), "MulBackward0")
    request = {"how": "cut", "of": "node", "row": node}
    state = ask(services, "add", **request)
    assert state["error"].startswith("An earlier backward() freed this graph")
    assert (state["changes"], state["rows"]) == ([], [])
    unknown = ask(services, "add", how="bend", of="node", row=node)["error"]
    assert unknown == "There is no change 'bend'."
    assert ask(services, "dance")["error"] == "There is no command 'dance'."
    far = ask(services, "add", how="cut", of="node", row=99)["error"]
    assert far == "This is not part of the graph that the loss still holds."
    del loss
    gc.collect()
    gone = ask(services, "add", **request)["error"]
    assert gone == "The graph is gone: keep the loss in a variable."
    del rec
    gc.collect()
    lost = ask(services, "add", **request)["error"]
    assert lost.endswith("is gone: keep the loss in a variable.") or lost == (
        "The recording is gone: keep it in a variable."
    )
