"""The view's side of the numbers of a tensor: what is still held, and a part of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

import gradviz
from gradviz.services import Services, services_of
from gradviz.values import MOST_NUMBERS, numbers, parsed_index


def ask(services: Services, node: int, index: str = "") -> Any:
    assert services.answer({"service": "values", "node": node, "index": index})
    return json.loads(json.dumps(services.states(), allow_nan=False))["values"]


def rows_of(snapshot: gradviz.ir.Snapshot) -> dict[str, int]:
    return {node.name: row for row, node in enumerate(snapshot.nodes)}


def test_a_graph_shows_what_it_saved_and_what_variables_hold(lib: Any):
    w = lib.tensor([[3.0, 4.0], [1.0, 2.0]], requires_grad=True)
    h = w.exp()
    h.retain_grad()
    first, second = h.split(1)
    loss = (first * second).sum()
    snapshot = gradviz.capture(loss)
    rows = rows_of(snapshot)
    services = Services(services_of(loss))
    before = (w._version, h._version, lib.get_rng_state().tolist())

    leaf = ask(services, rows["AccumulateGrad"], "1, :1")
    assert leaf["shown"] == [{"name": "value", "text": "float32 (1,)\n[1.]"}]
    saved = ask(services, rows["ExpBackward0"], "0, 0")
    assert saved["shown"] == [{"name": "value", "text": "float32 ()\n20.085537"}]
    split = ask(services, rows["SplitBackward0"], "0, 1")
    assert [each["name"] for each in split["shown"]] == ["output 0", "output 1"]
    assert ask(services, rows["SumBackward0"])["error"] == ""
    assert (w._version, h._version, lib.get_rng_state().tolist()) == before
    assert w.grad is None

    gone = ask(services, rows["MulBackward0"])
    assert gone["shown"] == []
    assert gone["error"].startswith("The program holds none of these values any more")
    wrong = ask(services, rows["ExpBackward0"], "7, 7, 7")
    assert wrong["shown"] == []
    assert "ndices" in wrong["error"]


def test_a_recording_shows_gradients_and_is_not_added_to(lib: Any):
    w = lib.tensor([1.0, 2.0], requires_grad=True)
    with gradviz.record() as rec:
        h = w * w
        loss = h.sum()
        loss.backward()
        nodes = len(rec.snapshot().nodes)
        services = Services(services_of(rec))
        rows = rows_of(rec.snapshot())
        shown = ask(services, rows["AccumulateGrad"])["shown"]
        assert [each["text"] for each in shown] == [
            "float32 (2,)\n[1., 2.]",
            "float32 (2,)\n[2., 4.]",
        ]
        assert ask(services, rows["MulBackward0"])["shown"][0]["text"].endswith(
            "[1., 4.]"
        )
        assert len(rec.snapshot().nodes) == nodes
    del loss
    assert "gone" in ask(services, rows["AccumulateGrad"])["error"]


def test_a_hook_of_the_program_is_not_run(lib: Any):
    unpacked: list[Any] = []

    def unpack(held: Any) -> Any:
        unpacked.append(held)
        return held

    w = lib.tensor([1.0], requires_grad=True)
    with lib.autograd.graph.saved_tensors_hooks(lambda held: held, unpack):
        loss = w.exp().sin().sum()
    services = Services(services_of(loss))
    rows = rows_of(gradviz.capture(loss))
    unpacked.clear()
    assert "holds none" in ask(services, rows["ExpBackward0"])["error"]
    assert unpacked == []


def test_what_numpy_does_not_know_and_what_is_long(lib: Any):
    half = lib.tensor([1.5, 2.5]).to(lib.bfloat16)
    assert numbers(half, ()) == "bfloat16 (2,)\n[1.5, 2.5]"
    turned = lib.tensor([1 + 2j]).conj()
    assert numbers(turned, ()) == "complex64 (1,)\n[1.-2.j]"
    long = numbers(lib.arange(MOST_NUMBERS + 1), ())
    assert "..., " in long
    assert len(long) < 200


@pytest.mark.parametrize(
    "text", ["0][0", "x", "0, 'a'", "1.5", "(", "True", "[0, 1]", "1:'a'", "(" * 5000]
)
def test_an_index_is_numbers_and_slices(text: str):
    with pytest.raises(ValueError, match="an index is numbers and slices"):
        parsed_index(text)


def test_an_index_reads_as_python_reads_it():
    expected = (-1, slice(None), slice(3, -8, 2), None, ...)
    assert parsed_index("-1, :, 3:-8:2, None, ...") == expected
    assert parsed_index(" ") == ()
