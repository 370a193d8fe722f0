"""``--fail-on``, ``--format``, ``--baseline``: what is said where, and the status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import forked
from tests.gradviz.reporting.programs import (
    CUT,
    FAILED,
    FINE,
    RAISES,
    found,
    run,
    run_afresh,
)

pytestmark = pytest.mark.usefixtures("checkout")


@pytest.mark.parametrize(
    ("fail_on", "status"), [("never", 0), ("error", 0), ("warning", FAILED)]
)
def test_a_warning_fails_where_warnings_are_to(fail_on: str, status: int):
    assert run(CUT, "--fail-on", fail_on) == status


def test_nothing_found_fails_nothing():
    assert run(FINE, "--fail-on", "warning") == 0


def test_by_default_the_status_is_the_scripts():
    assert run(CUT) == 0
    assert run(CUT + "raise SystemExit(7)\n") == 7


@pytest.mark.parametrize("end", ["raise SystemExit(7)", "raise ValueError('x')"])
def test_the_scripts_own_failure_wins(end: str):
    assert run(f"{CUT}{end}\n", "--fail-on", "warning") == 7 - 6 * ("Value" in end)


def test_a_script_that_exits_well_by_itself_fails_too():
    assert run(CUT + "raise SystemExit(0)\n", "--fail-on", "warning") == FAILED


@pytest.mark.parametrize(("status", "expected"), [(0, FAILED), (5, 5)])
def test_leaving_past_python_is_no_way_around(
    checkout: Path, status: int, expected: int
):
    (checkout / "train.py").write_text(f"{CUT}import os\nos._exit({status})\n")
    command = ["run", "--no-open", "--fail-on", "warning", "train.py"]
    assert forked.run("-m", "gradviz", *command, cwd=checkout).returncode == expected


def test_a_run_that_cannot_be_looked_at_does_not_pass(
    monkeypatch: pytest.MonkeyPatch, capsys
):
    def fail(_: object) -> None:
        raise RuntimeError("no reason")

    monkeypatch.setattr("gradviz._capture.session.Session.diagnose", fail)
    assert run(CUT, "--fail-on", "error") == FAILED
    assert (
        "what was found is missing: RuntimeError: no reason" in capsys.readouterr().err
    )


# ---- forms ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "begin"),
    [
        (("--findings", "found.json"), '{\n "schema": 1'),
        (("--findings", "found"), '{\n "schema": 1'),
        (("--findings", "found.sarif"), '{\n "$schema": "https://docs.oasis'),
        (("--findings", "found.txt"), "Found 1 cause in 3 backward passes"),
        (("--findings", "x", "--format", "sarif"), '{\n "$schema": "https://docs.oas'),
        (("--findings", "x.sarif", "--format", "json"), '{\n "schema": 1'),
        (("--findings", "x.sarif", "--format", "github"), '{\n "$schema": "https://d'),
    ],
    ids=" ".join,
)
def test_the_file_has_the_form_that_was_asked_for(
    options: tuple[str, ...], begin: str, capsys
):
    assert run(CUT, *options) == 0
    assert Path(options[1]).read_text("utf-8").startswith(begin)
    github = "github" in options
    assert ("\n::warning " in capsys.readouterr().err) == github


@pytest.mark.parametrize("form", ["json", "sarif"])
def test_without_a_file_a_document_stands_alone_on_stderr(form: str, capsys):
    assert run("print('its own')\n" + CUT, "--format", form) == 0
    said = capsys.readouterr()
    assert said.out == "its own\n"
    key = {"json": "findings", "sarif": "runs"}[form]
    assert len(json.loads(said.err)[key]) == 1


def test_text_is_what_is_said_without_a_format(capsys):
    run(CUT, "--html", "a.html")
    plain = capsys.readouterr().err
    run(CUT, "--html", "a.html", "--format", "text")
    assert capsys.readouterr().err == plain


def test_a_format_alone_says_what_was_found_and_writes_nothing(checkout: Path, capsys):
    run(CUT, "--format", "text")
    said = capsys.readouterr().err
    assert said.startswith("gradviz: found 1 cause in 3 backward passes")
    assert said.rstrip().endswith("showed at: train.py:15  loss.backward()")
    assert sorted(each.name for each in checkout.iterdir()) == [".git", "train.py"]


def test_a_format_alone_says_that_nothing_was_found(capsys):
    run(FINE, "--format", "text")
    said = capsys.readouterr().err
    assert said.startswith("gradviz: no findings in 3 backward passes")
    assert said.count("\n") == 1
    run("print()", "--format", "github")
    assert "called no operation" in capsys.readouterr().err


def test_stepping_finds_nothing_to_write(capsys):
    assert run(CUT, "--step", "--fail-on", "error") == 2
    assert "--step records nothing" in capsys.readouterr().err


# ---- baseline ------------------------------------------------------------------------

KNOWN = ("--baseline", "known.json")


def test_what_is_known_is_not_told_and_does_not_fail(capsys):
    assert run(CUT, *KNOWN, "--write-baseline", "--fail-on", "warning") == 0
    assert "found 1 cause" in capsys.readouterr().err
    assert run(CUT, *KNOWN, "--fail-on", "warning") == 0
    said = capsys.readouterr().err
    assert "GV306" not in said
    assert "1 known finding of the baseline left out" in said
    document = found(CUT, *KNOWN)
    assert (document["findings"], document["known"]) == ([], 1)


MOVED = "# a line\n\n" + CUT.replace("    return torch", "    # one\n    return  torch")


def test_what_is_known_is_known_after_lines_have_moved():
    run_afresh(CUT, *KNOWN, "--write-baseline")
    assert run_afresh(MOVED, *KNOWN, "--fail-on", "warning") == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [("features_of", "other"), ("torch.tanh(encoder(x))", "encoder(x)")],
    ids=["function", "line"],
)
def test_the_same_rule_elsewhere_is_new(old: str, new: str):
    run_afresh(CUT, *KNOWN, "--write-baseline")
    assert run_afresh(CUT.replace(old, new), *KNOWN, "--fail-on", "warning") == FAILED


def test_the_same_line_in_another_file_is_new():
    run(CUT, *KNOWN, "--write-baseline")
    options = (*KNOWN, "--fail-on", "warning")
    assert run(CUT, *options, script="other.py") == FAILED


def test_a_baseline_is_the_same_in_another_checkout(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
):
    run(CUT, *KNOWN, "--write-baseline", script="net/train.py")
    known = (checkout / "known.json").read_bytes()
    other = checkout.with_name("other")
    (other / ".git").mkdir(parents=True)
    (other / "net").mkdir()
    monkeypatch.chdir(other / "net")
    run(CUT, *KNOWN, "--write-baseline")
    assert (other / "net" / "known.json").read_bytes() == known
    assert str(checkout).encode() not in known


def test_a_second_line_like_a_known_one_is_new():
    twice = CUT + CUT.replace("import gradtape as torch", "")
    run_afresh(CUT, *KNOWN, "--write-baseline")
    assert run_afresh(twice, *KNOWN, "--fail-on", "warning") == FAILED
    run_afresh(twice, *KNOWN, "--write-baseline")
    assert run_afresh(twice, *KNOWN, "--fail-on", "warning") == 0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "there is no baseline known.json; --write-baseline writes it."),
        ("[]", "known.json is no baseline of gradviz"),
        ("{", "known.json is no baseline of gradviz"),
        ('{"schema": 9, "findings": []}', "a baseline of another version"),
    ],
)
def test_a_bad_baseline_is_refused_before_the_run(
    text: str | None, sentence: str, capsys
):
    if text is not None:
        Path("known.json").write_text(text)
    assert run("print('ran')\n", *KNOWN) == 2
    said = capsys.readouterr()
    assert sentence in said.err
    assert said.out == ""


def test_a_baseline_to_write_needs_a_name(capsys):
    assert run(CUT, "--write-baseline") == 2
    assert "name it" in capsys.readouterr().err


def test_what_ended_the_script_is_known_as_well():
    assert run(RAISES, *KNOWN, "--write-baseline") == 1
    assert found(RAISES, *KNOWN)["known"] == 1
