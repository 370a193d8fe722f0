"""Findings on their way out: reports, documents, notes on errors, snapshots."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gradtape as torch
import gradviz
from gradviz import cli, ir, snapshots
from gradviz.diagnosis.diagnose import Diagnosis, diagnose
from gradviz.diagnosis.rule import Hit, Related, Rule
from gradviz.errors import CaptureError
from gradviz.ir.validate import validate
from gradviz.program.history import History
from gradviz.program.records import Program
from gradviz.text.findings import findings_text
from tests import forked

Script = Callable[[str], Path]

TWICE = """\
import torch
x = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (x * x).sum()
loss.backward()
loss.backward()
"""


def here() -> Any:
    frame = sys._getframe(1)
    return frame.f_code, frame.f_lasti


def rule(code: str, *hits: Hit, severity: Any = "warning") -> Rule:
    return Rule(code, "a-slug", severity, lambda history: hits)


def test_hits_that_explain_come_first_then_severity_then_certainty():
    a, b, c, d = (Hit(name, None, "") for name in "abcd")
    found = diagnose(
        Program("gradtape"),
        [
            rule("GV4", a),
            rule("GV3", Hit("unsure", None, "", certainty=0.5), severity="error"),
            rule("GV2", b, severity="error"),
            rule("GV1", Hit("cause", None, "", explains=True), severity="info"),
        ],
    )
    assert [each.message for each in found.findings] == ["cause", "b", "unsure", "a"]
    assert found.explains
    assert (c.message, d.message) == ("c", "d")


def test_a_rule_that_raises_is_named_and_the_others_go_on():
    def broken(history: History) -> list[Hit]:
        raise KeyError("gone")

    rules = [Rule("GV9", "broken", "error", broken), rule("GV8", Hit("m", None, ""))]
    found = diagnose(Program("gradtape"), rules)
    assert [each.code for each in found.findings] == ["GV8"]
    assert found.notes == ("Rule GV9 broken was skipped: it raised KeyError: 'gone'",)


def test_one_line_is_named_once_by_each_rule():
    site = here()
    hits = [Hit("first", site, ""), Hit("again", site, "")]
    found = diagnose(Program("gradtape"), [rule("GV1", *hits)])
    assert [each.message for each in found.findings] == ["first"]


def test_the_report_marks_the_expression_and_names_related_lines():
    def product() -> Any:
        return here()  # made here

    site = product()
    hit = Hit("It broke.", site, "Mend it.", related=(Related("made here", here()),))
    text = findings_text(diagnose(Program("gradtape"), [rule("GV1", hit)]))
    lines = text.splitlines()
    assert lines[0] == "warning GV1 a-slug"
    assert lines[1].startswith("  test_findings.py:")
    assert lines[2:4] == ["    return here()", "           ^^^^^^"]
    assert lines[4:6] == ["  It broke.", "  Fix: Mend it."]
    assert lines[6].startswith("  made here: test_findings.py:")
    assert findings_text(Diagnosis((), (), ())) == ""
    assert "\x1b[33mwarning" in findings_text(
        diagnose(Program("gradtape"), [rule("GV1", hit)]), color=True
    )


def test_a_hit_can_name_a_line_that_no_instruction_has():
    code, lasti = here()
    hit = Hit("m", (code, lasti), "", line=code.co_firstlineno)
    found = diagnose(Program("gradtape"), [rule("GV1", hit)])
    site = found.sites[found.findings[0].culprit or 0]
    assert site.line == code.co_firstlineno
    assert site.text.startswith("def test_a_hit_can_name")


def test_run_writes_the_findings_as_a_document(script: Script, capsys: Any):
    path = script(TWICE)
    status = cli.main(
        ["run", "--engine", "gradtape", "--findings", "out.json", str(path)]
    )
    assert status == 1
    document = json.loads(Path("out.json").read_text())
    assert (document["schema"], document["exit"]) == (1, "raised")
    assert document["script"] == str(path)
    assert document["error"].startswith("RuntimeError: Trying to backward")
    finding = document["findings"][0]
    assert finding["slug"] == "backward-twice"
    assert finding["culprit"]["line"] == 4
    assert finding["culprit"]["text"] == "loss.backward()"
    assert finding["symptom"]["line"] == 5
    error = capsys.readouterr().err
    assert "RuntimeError: Trying to backward" in error
    assert "error GV201 backward-twice\n  script.py:4\n" in error
    assert "gradviz: found 1 cause in 2 backward passes, 3 operations until" in error
    assert not Path("script.html").exists()


def test_the_page_of_a_run_holds_its_findings(script: Script, bundle: Path):
    path = script(TWICE)
    cli.main(["run", "--engine", "gradtape", "--json", "out.json", str(path)])
    snapshot = snapshots.load("out.json")
    (finding,) = snapshot.findings
    assert snapshot.sites[finding.culprit or 0].line == 4
    assert [snapshot.sites[row].line for row in finding.related][:1] == [5]
    assert [snapshot.nodes[row].name for row in finding.nodes]


def test_a_correct_run_says_that_nothing_was_found(script: Script, capsys: Any):
    path = script(TWICE.replace("loss.backward()\nloss.backward()", "loss.backward()"))
    assert (
        cli.main(["run", "--findings", "o.json", "--engine=gradtape", str(path)]) == 0
    )
    assert json.loads(Path("o.json").read_text())["findings"] == []
    error = capsys.readouterr().err
    assert error.startswith("gradviz: no findings in 1 backward pass, ")
    assert error.endswith(
        f"gradviz: wrote what was found: {Path('o.json').resolve()}\n"
    )


KEPT = """\
import torch
net = torch.nn.Linear(3, 2)
memory = []
for step in range(4):
    value = net(torch.randn(3))
    memory.append((step, value))
"""


def test_what_a_finished_script_still_holds_is_named(script: Script):
    path = script(KEPT)
    cli.main(["run", "--engine", "gradtape", "--findings", "o.json", str(path)])
    (finding,) = json.loads(Path("o.json").read_text())["findings"]
    assert (finding["slug"], finding["culprit"]["line"]) == ("eval-without-no-grad", 5)


ENDINGS = {
    "exit": ("import sys\nsys.exit(3)", 3),
    "no torch": ("print('nothing')", 0),
    "thread": (
        """
        import threading, torch
        threading.Thread(target=lambda: torch.ones(1) * 2).start()
        """,
        0,
    ),
    "hook": ("import sys\nsys.excepthook = lambda *a: print('mine')\n1 / 0", 1),
    "fork": ("import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)", 0),
    "syntax": ("x = = 1", 1),
    "exec": ("exec('import torch; torch.ones(1).backward()')", 1),
}


@pytest.mark.parametrize("kind", ENDINGS)
def test_every_ending_gets_its_report(script: Script, kind: str):
    text, status = ENDINGS[kind]
    path = script(text)
    arguments = ["run", "--engine", "gradtape", "--findings", "o.json", str(path)]
    ended = forked.run("-m", "gradviz", *arguments, cwd=Path.cwd())
    assert ended.returncode == status, ended.stderr
    document = json.loads(Path("o.json").read_text())
    assert document["exit"] == ("raised" if status == 1 else "ok")
    said = [line for line in ended.stderr.splitlines() if line.endswith("o.json")]
    assert len(said) == 1


def test_an_error_that_leaves_a_recorded_block_carries_the_cause():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    recorder = gradviz.record()

    def twice() -> None:
        with recorder:
            loss = (x * x).sum()
            loss.backward()
            loss.backward()

    with pytest.raises(RuntimeError, match="second time") as caught:
        twice()
    note = caught.value.__notes__[-1]
    assert note.startswith("error GV201 backward-twice\n  test_findings.py:")
    diagnosis = recorder.diagnose()
    verdict, _, first = repr(diagnosis).split("\n")[:3]
    assert verdict == "Found 1 cause in 2 backward passes, 2 operations."
    assert first.startswith("error GV201")
    snapshot = recorder.snapshot()
    validate(snapshot)
    found = [(each.severity, each.slug) for each in snapshot.findings]
    assert found == [("error", "backward-twice")]


def test_an_error_of_another_kind_gets_no_note():
    with pytest.raises(ZeroDivisionError) as caught, gradviz.record():
        torch.ones(1) / (1 // 0)
    assert not hasattr(caught.value, "__notes__")


def test_findings_survive_a_file(tmp_path: Path):
    site = ir.Site("a.py", 1, 1, 1, 2, "x")
    finding = ir.Finding("GV1", "s", "info", "m", "f", 0, 0, (0,), ("made here",))
    snapshot = ir.Snapshot("p", sites=(site,), findings=(finding,))
    path = gradviz.export_json(snapshot, tmp_path / "s.json")
    assert gradviz.load(path).findings == (finding,)


def test_a_recording_can_be_asked_before_it_ends():
    encoder, head = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
    with gradviz.record() as recorder:
        assert not recorder.diagnose()
        head(encoder(torch.ones(3, 2)).detach()).sum().backward()
        (finding,) = recorder.diagnose().findings
    assert finding.slug == "detach-in-forward"
    assert "`encoder.weight`" in finding.message


def test_what_cannot_be_recorded_is_noted_and_the_block_runs(
    monkeypatch: pytest.MonkeyPatch,
):
    from gradviz._capture.adapters.gradtape.log import GradtapeLog

    def broken(self: object) -> None:
        raise ValueError("a bug of ours")

    monkeypatch.setattr(GradtapeLog, "__enter__", broken)
    with gradviz.record(engine="gradtape") as recorder:
        torch.ones(2, requires_grad=True).sum().backward()
    with pytest.raises(CaptureError) as caught:
        recorder.snapshot()
    assert "Findings were not recorded: ValueError: a bug of ours" in str(caught.value)
    assert "The graph was not recorded: ValueError" in str(caught.value)
    assert not recorder.diagnose()
