"""``gradviz run`` on unmodified training scripts, under both engines.

Each trains on gradtape as under PyTorch, and recorded under PyTorch it prints the same.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gradviz
from gradviz import ir
from gradviz.ir.validate import validate
from tests.depth import THOROUGH

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROGRAMS = sorted(path.stem for path in HERE.glob("*.py") if "test" not in path.stem)
STEPS = 50 if THOROUGH else 12

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
def test_a_program_trains_alike_however_it_is_run(name: str, tmp_path: Path):
    pytest.importorskip("torch")
    script = str(HERE / f"{name}.py")
    plain = output_of(script, str(STEPS), cwd=tmp_path)
    ours, snapshot = recorded(script, "gradtape", tmp_path)
    assert len(losses(plain)) == STEPS
    assert losses(ours) == pytest.approx(losses(plain), abs=1e-4)
    assert ours.splitlines()[STEPS] == plain.splitlines()[STEPS]  # what was learned
    assert files_of(snapshot) == {script}  # each node knows its line in the program

    theirs, snapshot = recorded(script, "torch", tmp_path)
    assert theirs == plain
    validate(snapshot)
    assert files_of(snapshot) == {script}
    leaves = [node for node in snapshot.nodes if node.kind == "accumulate"]
    assert all("." in leaf.call for leaf in leaves)  # parameters, by their paths
    assert [f.code for f in snapshot.findings if f.severity != "info"] == []
    # Data preparation without gradients does not fill the page.
    assert len(snapshot.events) < 20 * len(snapshot.nodes)
    assert (tmp_path / "run.html").stat().st_size < 2_000_000


def recorded(script: str, engine: str, folder: Path) -> tuple[str, ir.Snapshot]:
    """Run a program under gradviz; return what it printed and its recording."""
    page, data = folder / "run.html", folder / "run.json"
    options = ("--engine", engine, "--no-open", "--html", str(page), "--json")
    command = ("-m", "gradviz", "run", *options, str(data), script, str(STEPS))
    return output_of(*command, cwd=folder), gradviz.load(data)


def files_of(snapshot: ir.Snapshot) -> set[str]:
    """Return the files that the nodes of a recording come from."""
    used = {node.site for node in snapshot.nodes if node.site is not None}
    return {snapshot.sites[site].file for site in used}
