"""The faults that are planted: each is one valid change in one place."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.faults import mutate
from tests.faults.mutate import faults_in, plant

SOURCE = '''"""A file."""

def f(x: int = 3) -> int:
    """What it does: 1 + 1."""
    if x < 2 and not x:
        print(f"é {x + 1}", x * 5)
    y: int = 4
    return -x if x in (7,) else 0
'''


def test_each_kind_of_place_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    found = {(each.before, each.after) for each in faults_in(Path("a.py"))}
    assert found == {
        ("x < 2 and not x", "(not (x < 2 and (not x)))"),
        ("x < 2 and not x", "(x < 2 or not x)"),
        ("x < 2", "(x <= 2)"),
        ("2", "(3)"),
        ("-x if x in (7,) else 0", "(None)"),
        ("x in (7,)", "(not x in (7,))"),
        ("x in (7,)", "(x not in (7,))"),
        ("7", "(8)"),
        ("0", "(1)"),
        ("4", "(5)"),
        ("x * 5", "(x + 5)"),
        ("5", "(6)"),
    }


def test_a_planted_fault_is_taken_out_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "a.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    (fault,) = [f for f in faults_in(Path("a.py")) if f.before == "x * 5"]
    with fault.planted(tmp_path):
        assert '"é {x + 1}", (x + 5)' in (tmp_path / "a.py").read_text("utf-8")
    assert (tmp_path / "a.py").read_text("utf-8") == SOURCE
    assert str(fault) == "a.py:6: 'x * 5' became '(x + 5)'"


def test_faults_lie_in_both_packages_and_leave_valid_python():
    faults = list(plant(1, 20))
    assert faults == list(plant(1, 20))
    assert {fault.file.parts[0] for fault in faults} == {"engine", "gradviz"}
    for fault in faults:
        source = (mutate.ROOT / fault.file).read_bytes()
        changed = source[: fault.start] + fault.after.encode() + source[fault.end :]
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source))
