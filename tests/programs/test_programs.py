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
from tests import forked
from tests.depth import THOROUGH

HERE = Path(__file__).parent
PROGRAMS = sorted(path.stem for path in HERE.glob("*.py") if "test" not in path.stem)
STEPS = 50 if THOROUGH else 12

pytestmark = pytest.mark.slow


def fresh(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a Python program on one thread, its imports included."""
    return subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": forked.PATHS},
        capture_output=True,
        text=True,
        check=False,
        timeout=forked.LIMIT_S,
    )


def losses(output: str) -> list[float]:
    """Return the losses a program printed, one per step."""
    return [float(found) for found in re.findall(r"loss (\S+)", output)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_trains_alike_however_it_is_run(name: str, tmp_path: Path):
    pytest.importorskip("torch")
    script = str(HERE / f"{name}.py")
    plain = forked.run(script, str(STEPS), cwd=tmp_path, engine="torch").stdout
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
    # How many steps it looks at depends on the time since the process began.
    run = fresh if engine == "torch" else forked.run
    finished = run(*command, cwd=folder)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout, gradviz.load(data)


def files_of(snapshot: ir.Snapshot) -> set[str]:
    """Return the files that the nodes of a recording come from."""
    used = {node.site for node in snapshot.nodes if node.site is not None}
    return {snapshot.sites[site].file for site in used}
