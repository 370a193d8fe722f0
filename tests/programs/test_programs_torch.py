"""``gradviz run`` on unmodified training scripts, under PyTorch itself."""

from __future__ import annotations

from pathlib import Path

import pytest

import gradviz
from gradviz.ir.validate import validate
from tests.programs.test_programs import HERE, PROGRAMS, output_of

STEPS = 12

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_recorded_program_prints_the_same_and_gives_a_page(name: str, tmp_path: Path):
    pytest.importorskip("torch")
    script = str(HERE / f"{name}.py")
    page, data = tmp_path / "run.html", tmp_path / "run.json"
    options = ("--engine", "torch", "--no-open", "--html", str(page), "--json")
    plain = output_of(script, str(STEPS), cwd=tmp_path)
    command = ("-m", "gradviz", "run", *options, str(data), script, str(STEPS))
    assert output_of(*command, cwd=tmp_path) == plain

    snapshot = gradviz.load(data)
    validate(snapshot)
    used = {node.site for node in snapshot.nodes if node.site is not None}
    assert {snapshot.sites[site].file for site in used} == {script}
    leaves = [node for node in snapshot.nodes if node.kind == "accumulate"]
    assert all("." in leaf.call for leaf in leaves)  # parameters, by their paths
    assert [f.code for f in snapshot.findings if f.severity != "info"] == []
    # Data preparation without gradients does not fill the page.
    assert len(snapshot.events) < 20 * len(snapshot.nodes)
    assert page.stat().st_size < 2_000_000
