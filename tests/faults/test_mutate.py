"""The faults that are planted: one valid change in one place; and what catches them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.faults import __main__ as faults
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


def test_a_test_that_fails_without_the_fault_catches_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    source = tmp_path / "a.py"
    source.write_text(SOURCE, encoding="utf-8")
    fault = next(faults_in(Path("a.py")))

    def first_failure(
        folder: Path, tests: list[str], without: list[str], *_: object, **named: object
    ) -> str:
        planted = source.read_text("utf-8") != SOURCE
        failing = {"test_old.py", "test_new.py"} if planted else {"test_old.py"}
        found = [t for t in tests if t in failing and t not in without]
        return f"FAILED {found[0]} - assert" if found else ""

    monkeypatch.setattr(faults, "_first_failure", first_failure)
    tests = [Path("test_old.py"), Path("test_new.py")]
    assert faults.caught(fault, tmp_path, tests, 1, 0).startswith("FAILED test_new.py")
    assert faults.caught(fault, tmp_path, tests[:1], 1, 0) == ""


def test_a_file_that_cannot_be_imported_catches_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    (tmp_path / "a.py").write_text(SOURCE, encoding="utf-8")

    def first_failure(folder: Path, tests: list[str], *_: object, **__: object) -> str:
        return "ERROR test_old.py" if "test_old.py" in tests else ""

    monkeypatch.setattr(faults, "_first_failure", first_failure)
    fault, tests = next(faults_in(Path("a.py"))), [Path("test_old.py"), Path("b.py")]
    assert faults.caught(fault, tmp_path, tests, 1, 0) == ""


def test_an_older_suite_keeps_the_files_that_are_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(faults, "ROOT", tmp_path / "now")
    for name in ("now/tests/test_a.py", "now/tests/test_new.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    for name in ("then/tests/test_a.py", "then/tests/test_gone.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    chosen = [Path("tests/test_a.py"), Path("tests/test_new.py")]
    assert faults.in_suite(chosen, tmp_path / "then") == [
        Path("tests/test_a.py"),
        Path("tests/test_gone.py"),
    ]
