"""What runs in Pyodide: without NumPy in the real one, with it as good as there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.packaging.without_numpy import ABSENT
from tools import frontend
from tools.playground import Pyodide

HERE = Path(__file__).parent
RESTRICTED = HERE / "as_in_pyodide.py"
SCRIPT = HERE / "without_numpy.py"


def told(command: list[object], root: Path, folder: Path) -> dict[str, Any]:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={"PYTHONPATH": str(root), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return json.loads(done.stdout)


def assert_all_was_tried(found: dict[str, Any]) -> None:
    assert found["modules"] > 300
    assert found["examples"] > 90
    assert found["expressions"] == ["here(1)", "here(2)", "here(3)"]
    assert found["snapshot"] is True
    assert found["explained"] > 150


def test_it_works_on_this_python(root: Path, tmp_path: Path):
    code = (
        f"import runpy, sys; sys.modules |= dict.fromkeys({sorted(ABSENT)})\n"
        f"runpy.run_path({str(SCRIPT)!r}, run_name='__main__')"
    )
    found = told([sys.executable, "-W", "error", "-c", code], root, tmp_path)
    assert_all_was_tried(found)


def in_pyodide(pyodide: Pyodide, script: Path, root: Path, folder: Path) -> Any:
    node = frontend.require_node().executable
    command = [node, HERE / "in_pyodide.mjs", pyodide.folder, root / "gradviz", script]
    return told(command, root, folder)


@pytest.mark.slow
def test_it_works_on_the_python_of_pyodide(
    pyodide: Pyodide, root: Path, tmp_path: Path
):
    found = in_pyodide(pyodide, SCRIPT, root, tmp_path)
    assert found["python"] >= "3.12"
    assert_all_was_tried(found)


def test_what_is_taken_away_is_what_pyodide_lacks(
    pyodide: Pyodide, root: Path, tmp_path: Path
):
    assert in_pyodide(pyodide, RESTRICTED, root, tmp_path) == []


def test_programs_run_without_threads_and_processes(root: Path, tmp_path: Path):
    paths = os.pathsep.join((str(root), str(root / "engine")))
    done = subprocess.run(
        [sys.executable, "-W", "ignore::UserWarning", RESTRICTED],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    *said, last = done.stdout.splitlines()
    told = json.loads(last)
    assert (told["left"], told["demo"]) == ([], 0)
    quiet, workers, stepped = told["came"]
    assert [each["code"] for each in quiet["found"]["findings"]] == ["GV306"]
    assert (quiet["status"], quiet["page"][:15]) == (0, "<!DOCTYPE html>")
    assert "28.0" in said
    assert [each["code"] for each in workers["found"]["findings"]] == ["GV101"]
    assert "this Python can start none" in stepped["found"]["error"]
