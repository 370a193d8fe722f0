"""The judge counts a finding where it blames a marked line, and only there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unseen.__main__ import HERE, MARK, SETS, rank

PAIRS = {"j": 97, "r": 153, "s": 56, "t": 44, "u": 62}  # not of the usual number


def finding(line: int, end: int | None = None, file: str = "p.py") -> dict[str, Any]:
    return {"culprit": {"file": file, "line": line, "end_line": end}}


@pytest.mark.parametrize(
    ("findings", "place"),
    [
        ([finding(2)], 0),
        ([finding(1), finding(2)], 1),
        ([finding(1, 3)], 0),
        ([finding(1)], None),
        ([finding(2, file="other.py")], None),
        ([{"culprit": None}], None),
        ([], None),
    ],
)
def test_a_finding_counts_at_a_marked_line(
    tmp_path: Path, findings: list[dict[str, Any]], place: int | None
) -> None:
    program = tmp_path / "p.py"
    program.write_text(f"a = 1\nb = 2  {MARK}\nc = 3\n")
    assert rank(program, findings) == place


@pytest.mark.parametrize("name", [*SETS])
def test_wrong_programs_are_marked_and_correct_ones_are_not(name: str) -> None:
    programs = sorted((HERE / name).glob("*.py"))
    assert len(programs) == PAIRS.get(name, 46 if name > "j" else 45)
    for program in programs:
        marks = program.read_text().count(MARK)
        assert marks in ((0,) if program.name.startswith("clean_") else (1, 2)), program
