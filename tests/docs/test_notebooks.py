"""The tour runs from top to bottom, fails only where it says so, and draws graphs."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tools import notebooks
from tools.notebooks import SVG, TEXT, TOUR, executed

pytestmark = pytest.mark.skipif(
    find_spec("nbclient") is None, reason="notebooks are run by nbclient"
)

SNAPSHOT = "application/vnd.gradviz+json"

# What the pictures and texts of each notebook must show, in any of its outputs.
GRAPHS = {
    "01_first_graph": (3, set[str]()),
    "02_leaves_detach_and_cuts": (1, {"threshold-cuts-gradient"}),
    "03_in_place_and_versions": (
        3,
        {"inplace-saved-output", "inplace-disjoint-slice"},
    ),
    "04_strides_and_storage": (2, {"view-noncontiguous"}),
    "05_nan_hunting": (1, {"nan-log-of-zero"}),
    "06_gradient_flow": (2, {"vanishing-gradient"}),
    "07_on_pytorch": (1, {"layers-in-plain-list"}),
}
TEXTS = {
    "02_leaves_detach_and_cuts": ["detach-in-forward"],
    "05_nan_hunting": ["nan-sqrt-of-zero"],
    "06_gradient_flow": [
        "SigmoidBackward0",
        "The pass was given up",
        "GV501 vanishing-gradient: Since step",
        "26 parameters",
    ],
    "07_on_pytorch": ["ReluBackward0"],
}


def outputs(notebook: Any) -> list[Any]:
    return [output for cell in notebooks.outputs(notebook) for output in cell]


def kinds(notebook: Any) -> list[list[str]]:
    """Of each output of each cell, what it is."""
    return [
        [each.get("name") or "".join(each.get("data", {})) or "error" for each in cell]
        for cell in notebooks.outputs(notebook)
    ]


@pytest.mark.parametrize("path", TOUR, ids=lambda path: path.stem)
def test_a_notebook_of_the_tour_runs_and_shows_what_it_tells(
    path: Path, tmp_path: Path
):
    notebook = executed(path, tmp_path)
    shown = outputs(notebook)
    snapshots = [o.data[SNAPSHOT] for o in shown if SNAPSHOT in o.get("data", {})]
    count, slugs = GRAPHS[path.stem]
    assert len(snapshots) == count
    found = {each["slug"] for graph in snapshots for each in graph.get("findings", [])}
    assert found == slugs
    text = "\n".join(
        o.get("text", "") + o.get("data", {}).get("text/plain", "") for o in shown
    )
    assert [word for word in TEXTS.get(path.stem, []) if word not in text] == []
    notebooks.reduce(notebook)
    assert kinds(notebook) == kinds(notebooks.read(path))


@pytest.mark.parametrize("path", TOUR, ids=lambda path: path.stem)
def test_a_notebook_of_the_tour_is_stored_with_what_a_code_host_shows(path: Path):
    import nbformat

    notebook = notebooks.read(path)
    nbformat.validate(notebook)
    assert any(SVG in each for cell in kinds(notebook) for each in cell)
    assert path.stat().st_size < notebooks.MAX_NBYTES
    assert re.findall(r"/tmp/|at 0x|\\u001b", path.read_text(encoding="utf-8")) == []
    assert "Exercises" in notebook.cells[-1].source


def test_what_a_slow_cell_prints_is_one_text(tmp_path: Path):
    from nbformat import v4, write

    code = "import time\nprint(1, flush=True)\ntime.sleep(0.5)\nprint(2)"
    path = tmp_path / "slow.ipynb"
    write(v4.new_notebook(cells=[v4.new_code_cell(code)]), path)
    assert [each.text for each in outputs(notebooks.executed(path, tmp_path))] == [
        "1\n2\n"
    ]


def test_what_a_cell_raised_is_kept_before_what_it_has_shown():
    from nbformat import v4

    picture = v4.new_output("display_data", {SVG: "<svg/>", TEXT: "a graph"})
    raised = v4.new_output("error", ename="E", evalue="e", traceback=["frames"])
    cell = v4.new_code_cell("f()", outputs=[picture, raised])
    notebook = v4.new_notebook(cells=[cell])
    notebooks.reduce(notebook)
    assert kinds(notebook) == [["error", TEXT, SVG]]
