"""Programs written for PyTorch train alike on gradtape, and record their graphs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gradviz

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROGRAMS = sorted(path.stem for path in HERE.glob("*.py") if "test" not in path.stem)
STEPS = 50

pytestmark = pytest.mark.slow


def output_of(*command: str, cwd: Path) -> str:
    """Run a Python program on one thread; return what it printed."""
    paths = os.pathsep.join((str(ROOT / "engine"), str(ROOT)))
    finished = subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def losses(output: str) -> list[float]:
    """Return the losses a program printed, one per step."""
    return [float(found) for found in re.findall(r"loss (\S+)", output)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_trains_as_under_pytorch(name: str, tmp_path: Path):
    pytest.importorskip("torch")
    script = str(HERE / f"{name}.py")
    recording = tmp_path / "run.json"
    options = ("--engine", "gradtape", "--no-open", "--json", str(recording))
    theirs = output_of(script, str(STEPS), cwd=tmp_path)
    ours = output_of("-m", "gradviz", "run", *options, script, str(STEPS), cwd=tmp_path)
    assert len(losses(theirs)) == STEPS
    assert losses(ours) == pytest.approx(losses(theirs), abs=1e-4)
    assert ours.splitlines()[STEPS] == theirs.splitlines()[STEPS]  # what was learned

    snapshot = gradviz.load(recording)
    used = {node.site for node in snapshot.nodes if node.site is not None}
    files = {snapshot.sites[site].file for site in used}
    assert files == {script}  # each node knows its line in the program
