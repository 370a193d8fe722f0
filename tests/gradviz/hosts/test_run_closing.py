"""What ``gradviz run`` says when a script is over."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gradviz import ir
from gradviz.cli.closing import closing
from gradviz.diagnosis.diagnose import Diagnosis, LookedAt
from gradviz.diagnosis.rule import Hit, Rule
from gradviz.running.script import Outcome

GRAPH = ir.Snapshot("demo", nodes=(ir.OpNode("MulBackward0", "op", "mul"),))
LOOKED_AT = LookedAt(passes=3, operations=41, optimizers=1)
RULE = Rule("GV1", "some-cause", "error", lambda history: ())
FINDING = ir.Finding("GV1", "some-cause", "error", "It is so.", "Change it.")


def said(outcome: Outcome, *files: str) -> list[str]:
    written = {name: Path("/tmp") / name for name in files}
    return closing(outcome, written, color=False).split("\n")


def diagnosis(*notes: str, findings: tuple[ir.Finding, ...] = ()) -> Diagnosis:
    hits = tuple((RULE, Hit(each.message, None, each.fix)) for each in findings)
    return Diagnosis(findings, (), (), hits, notes, LOOKED_AT)


def test_no_findings_are_said_with_what_was_looked_at():
    assert said(Outcome(GRAPH, diagnosis()), "a.html") == [
        "gradviz: no findings in 3 backward passes, 41 operations, 1 optimizer.",
        "gradviz: recorded 1 node, 0 edges: /tmp/a.html",
    ]


def test_the_verdict_comes_first_and_the_files_last():
    outcome = Outcome(GRAPH, diagnosis("A note.", findings=(FINDING,)), "E: e")
    first, *rest, note, last = said(outcome, "a.html")
    assert first.startswith("gradviz: found 1 cause in 3 backward passes")
    assert first.endswith(" until the script raised.")
    assert rest[1] == "error GV1 some-cause"
    assert note == "note: A note."
    assert (
        last == "gradviz: recorded 1 node, 0 edges until the script raised: /tmp/a.html"
    )


def test_what_a_log_has_dropped_is_not_called_looked_at():
    found = Diagnosis((), (), (), looked_at=LookedAt(900, 40_000, 0, of_passes=9_000))
    words = (
        "no findings in the 900 recorded of 9,000 backward passes, 40,000 operations"
    )
    assert found.verdict == words
    assert repr(found) == f"N{words[1:]}."


def test_a_run_without_a_backward_pass_says_so():
    nothing = Diagnosis((), (), (), looked_at=LookedAt(0, 2, 0))
    assert nothing.verdict == "no findings in 2 operations and no backward pass"


def test_a_script_without_tensors_gets_one_sentence():
    nothing = Diagnosis((), (), (), looked_at=LookedAt(0, 0, 0))
    words = "gradviz: the script called no operation of PyTorch or gradtape: /tmp/{}"
    outcome = Outcome(ir.Snapshot("demo"), nothing)
    assert said(outcome, "a.html") == [words.format("a.html")]
    assert said(Outcome(None, nothing), "f.json") == [words.format("f.json")]


def test_notes_are_said_once_and_not_without_end():
    notes = [f"Note {number}." for number in range(14)]
    snapshot = ir.Snapshot("demo", notes=(notes[0], "Of the graph.\x1b[31m", *notes))
    text = said(Outcome(snapshot, diagnosis(notes[0], notes[0])))
    lines = [line for line in text if line.startswith("note: ")]
    assert lines[:2] == ["note: Note 0.", r"note: Of the graph.\x1b[31m"]
    assert len(lines) == 12
    assert text[-2] == "… 3 more notes"


def test_how_much_is_kept_is_one_line():
    kept = "30 passes were recorded; the last 2 are kept."
    snapshot = replace(GRAPH, notes=(kept, "Something could not be seen."))
    outcome = Outcome(
        snapshot, diagnosis(), passes=30, in_full=3, routine=frozenset([kept])
    )
    lines = [line for line in said(outcome) if line.startswith("note: ")]
    assert lines == [
        "note: sampled 3 of 30 passes; `--detail full` records all.",
        "note: Something could not be seen.",
    ]
    whole = replace(outcome, in_full=None)
    assert [each for each in said(whole) if each.startswith("note: ")] == lines[1:]
