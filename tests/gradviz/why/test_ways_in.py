"""Who is asked, and how: live things, names, saved recordings, the command line."""

from __future__ import annotations

import json
import pickle
import traceback
from dataclasses import replace
from pathlib import Path

import pytest

import gradtape as torch
import gradviz
from gradtape import nn
from gradviz import cli, ir
from gradviz.answers import saved
from gradviz.errors import QuestionError


@pytest.fixture
def parts():
    """An encoder that is cut off, a head that learns, and their recording."""
    encoder, head = nn.Linear(3, 2), nn.Linear(2, 1)
    inputs = torch.ones(4, 3)
    with gradviz.record() as recorder:
        features = encoder(inputs).detach()
        loss = head(features).sum()
        loss.backward()
    return recorder, encoder, head, features, loss


def test_the_newest_recording_that_knows_a_thing_answers(parts):
    recorder, encoder, head, features, loss = parts
    with gradviz.record():
        torch.ones(2).sum()
    assert gradviz.why(encoder.weight).decision.site.line == _line_of(".detach()")
    assert gradviz.why(head).verdict.endswith("reach both of its parameters.")
    assert gradviz.why(features).question == "requires_grad"
    assert gradviz.why(loss).kind == "loss"
    assert gradviz.why(loss.grad_fn).subject == "loss"
    assert recorder.why("encoder.weight").steps == gradviz.why(encoder.weight).steps


def _line_of(text):
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_a_running_recording_answers_too():
    weight = torch.ones(2, requires_grad=True)
    with gradviz.record() as recorder:
        (weight * 2).sum().backward()
        assert recorder.why(weight).question == "learns"


def test_an_exception_is_asked_after_its_recorder_is_gone():
    with pytest.raises(RuntimeError) as raised, gradviz.record():
        torch.ones(2, 3) @ torch.ones(2, 3)
    why = gradviz.why(raised.value)
    assert [each.kind for each in why.steps][:2] == ["operand", "operand"]
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_what_nobody_recorded_is_said(parts):
    with pytest.raises(QuestionError, match="has not met that Tensor"):
        gradviz.why(torch.ones(1))
    near = r"near it are: `encoder\.weight`"
    with pytest.raises(QuestionError, match=near) as raised:
        parts[0].why("encoder.wieght")
    assert len(list(traceback.walk_tb(raised.tb))) == 2  # this line, and one of ours
    with pytest.raises(QuestionError, match="`colour` is no question"):
        parts[0].why("encoder.weight", "colour")
    with pytest.raises(QuestionError, match="say which is meant"):
        parts[0].why("weight")


def test_an_answer_is_text_data_and_html(parts):
    why = parts[0].why("encoder.weight")
    text = str(why).split("\n")
    assert text[0] == "encoder.weight has no gradient."
    assert sum("<- decision (test_ways_in.py:" in line for line in text) == 1
    told = json.loads(json.dumps(why.to_dict()))
    assert [each["kind"] for each in told["steps"]] == ["use", "gate", "state"]
    assert told["finding"] == "GV306"
    hostile = replace(why, verdict="<script>alert(1)</script>")
    assert "<script>" not in hostile._repr_html_()


# ---- saved ---------------------------------------------------------------------------


def test_a_file_answers_as_the_recording_does(parts, tmp_path, capsys):
    recorder = parts[0]
    path = gradviz.export_json(recorder.snapshot(), tmp_path / "run.gradviz.json")
    snapshot = gradviz.load(path)
    for name in ("encoder.weight", "encoder.bias", "head", "loss"):
        live, read = recorder.why(name), saved.saved_why(snapshot, name)
        assert read.verdict == live.verdict
        kept = [
            each for each in live.steps if live.kind == "loss" or each.kind != "pass"
        ]
        assert [s.sentence for s in read.steps] == [s.sentence for s in kept]
        assert [s.decision for s in read.steps] == [s.decision for s in kept]
    assert cli.main(["why", str(path), "encoder.weight"]) == 0
    assert capsys.readouterr().out.startswith("encoder.weight has no gradient.\n")
    assert cli.main(["why", str(path)]) == 0
    assert "loss teaches 2 of 4 parameters." in capsys.readouterr().out
    assert cli.main(["why", str(path), "head", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "module"
    assert cli.main(["why", str(path), "hed.weight"]) == 2
    assert "near it are: `head.weight`" in capsys.readouterr().err


def test_a_list_begins_with_what_is_wrong(parts, tmp_path, capsys):
    path = gradviz.export_json(parts[0].snapshot(), tmp_path / "run.gradviz.json")
    assert cli.main(["why", str(path)]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told == [
        "loss teaches 2 of 4 parameters.",
        "encoder.weight has no gradient.",
        "encoder.bias has no gradient.",
        "encoder does not learn: no gradient comes to its 2 parameters.",
        "3 healthy (--all lists them)",
    ]
    assert cli.main(["why", str(path), "--all"]) == 0
    every = capsys.readouterr().out.splitlines()
    assert len(every) == 7
    assert set(told[:-1]) < set(every)


def test_alike_parameters_share_an_answer(parts):
    answers = parts[0].snapshot().answers
    assert ("encoder.weight", "encoder.bias") in [each.names for each in answers]


def test_a_recording_without_answers_says_so():
    with pytest.raises(QuestionError, match="no answers are saved"):
        saved.saved_why(ir.Snapshot("demo"), "w")


def test_answers_are_bounded_and_what_is_dropped_is_said(parts, monkeypatch):
    monkeypatch.setattr(saved, "MOST", 2)
    snapshot = parts[0].snapshot()
    assert len(snapshot.answers) == 2
    assert any("Why questions are saved for" in note for note in snapshot.notes)


def test_a_failure_of_ours_costs_only_the_answers(parts, monkeypatch):
    monkeypatch.setattr(saved, "why", lambda *_: 1 / 0)
    snapshot = parts[0].snapshot()
    assert snapshot.nodes
    assert any("No answers were saved" in note for note in snapshot.notes)


def test_a_hostile_file_writes_nothing_into_the_terminal(tmp_path, capsys):
    answer = ir.Answer(("w",), "parameter", "none", "w \x1b[31m has no gradient.")
    path = gradviz.export_json(
        ir.Snapshot("demo", answers=(answer,)), tmp_path / "run.gradviz.json"
    )
    assert cli.main(["why", str(path), "w"]) == 0
    assert "\x1b" not in capsys.readouterr().out
