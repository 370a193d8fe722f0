"""What needs no NumPy works without it, here and on the Python inside WebAssembly."""

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

HERE = Path(__file__).parent
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


@pytest.mark.slow
def test_it_works_on_the_python_of_pyodide(root: Path, tmp_path: Path):
    """After ``npm install pyodide`` somewhere; no wheel of NumPy lies in there."""
    folder, node = os.environ.get("PYODIDE"), frontend.find_node()
    if folder is None or node is None:
        pytest.skip("needs Node, and in PYODIDE the folder of npm's package pyodide")
    command = [node.executable, HERE / "in_pyodide.mjs", folder, root / "gradviz"]
    found = told([*command, SCRIPT], root, tmp_path)
    assert found["python"] >= "3.13"
    assert_all_was_tried(found)
