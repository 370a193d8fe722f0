"""The documentation of the rules: whole, true to their files, and reachable."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from gradviz import cli
from gradviz.diagnosis.manual import SECTIONS, documented, explanation, page_of
from gradviz.diagnosis.rank_causes import CAUSES, Cause
from gradviz.diagnosis.rule import Rule
from gradviz.diagnosis.rules import all_rules


@pytest.mark.parametrize("rule", documented(), ids=lambda rule: rule.code)
def test_every_rule_is_documented_in_the_same_sections(rule: Rule | Cause):
    page = page_of(rule)
    assert page.title.endswith(".")
    assert tuple(page.sections) == SECTIONS
    assert all(page.sections.values())


def test_codes_and_slugs_are_used_once():
    rules = documented()
    assert set(rules) == {*all_rules(), *CAUSES}
    assert len({rule.code for rule in rules}) == len(rules)
    assert len({rule.slug for rule in rules}) == len(rules)


def test_the_whole_manual_is_markdown(capsys: Any):
    assert cli.main(["explain", "--all"]) == 0
    text = capsys.readouterr().out
    for rule in documented():
        assert f"(#{rule.code.lower()}-{rule.slug})" in text
        assert f"\n## {rule.code} {rule.slug}\n" in text
    assert cli.main(["explain", "--all", "GV101"]) == 2
    assert "--all" in capsys.readouterr().err


def test_code_in_the_manual_is_quoted_once(capsys: Any):
    """And names of functions are not written as the beginning of a sentence."""
    assert cli.main(["explain", "GV216"]) == 0
    page = capsys.readouterr().out
    assert "\n`requires_grad_()` on a result" in page
    cli.main(["explain"])
    cli.main(["explain", "--all"])
    text = capsys.readouterr().out.replace("```", "")
    assert "``" not in text


def test_explain_shows_one_rule_or_lists_all(capsys: Any):
    assert cli.main(["explain", "gv201"]) == 0
    by_code = capsys.readouterr().out
    assert by_code.startswith("GV201 backward-twice (error)\n")
    assert "Use instead" in by_code
    for name in ("backward-twice", "201"):
        assert cli.main(["explain", name]) == 0
        assert capsys.readouterr().out == by_code
    assert cli.main(["explain", "GV703"]) == 0
    assert capsys.readouterr().out.startswith("GV703 bad-rank (error)\n\nOne rank ")
    assert cli.main(["explain"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(documented())
    assert cli.main(["explain", "GV000"]) == 2
    assert "there is no rule 'GV000'" in capsys.readouterr().err
    assert cli.main(["explain", "backwardtwice"]) == 2
    assert "(is it backward-twice?)" in capsys.readouterr().err
    assert cli.main(["explain", "bakward-twice"]) == 2
    assert "(is it backward-twice" in capsys.readouterr().err


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_explain_names_every_severity_that_a_run_may_show(rule: Rule):
    """That no run shows another one is asserted of every program of tests/rules."""
    page = explanation(rule)
    assert page.startswith(f"{rule.code} {rule.slug} ({rule.severity})\n")
    told = page.rpartition("Severity\n")[2]
    gravest = rule.worst or rule.severity
    assert told.strip().startswith(f"{rule.severity};")
    assert gravest in re.findall(r"\w+", told)
    assert "it ended the run" in " ".join(told.split()) or rule.severity == "error"
    assert ("less" in told) == (rule.severity != "info")


CUT = """\
import torch
layer, head = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    head(layer(torch.ones(1, 2)).detach()).sum().backward()
    optimizer.step()
"""


def test_a_run_and_explain_agree_on_the_severity(
    capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path("cut.py").write_text(CUT)
    run = ["run", "--engine", "gradtape", "--findings", "found.json", "cut.py"]
    assert cli.main(run) == 0
    assert "\nwarning GV306 detach-in-forward\n" in capsys.readouterr().err
    assert cli.main(["explain", "GV306"]) == 0
    page = capsys.readouterr().out
    assert page.startswith("GV306 detach-in-forward (warning)\n")
    assert "Severity\n    warning; error where it ended the run, less where" in page
