"""A notebook stores the viewer once, whatever runs again."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gradviz import widget
from gradviz.render import mime
from gradviz.render.mime import HTML, stores_viewer
from tests.gradviz.hosts.notebooks import Cells, kept_comms, notebook_shell

PROGRAM = "x = torch.tensor([1.0, 2.0], requires_grad=True)\nloss = (x * x).sum()\n"


@pytest.fixture
def cells(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Cells]:
    bundle.write_text(" ".join(str(each**5) for each in range(10_000)))
    stub = tmp_path / "widget.js"
    stub.write_text("export default {};", encoding="utf-8")
    monkeypatch.setattr(widget, "STUB", stub)
    with kept_comms(monkeypatch), notebook_shell() as cells:
        cells.run(f"%load_ext gradviz\nimport gradtape as torch\n{PROGRAM}")
        yield cells


def held(cells: Cells) -> list[bool]:
    """Whether each output holds the viewer, in order."""
    return [stores_viewer(data) for data in cells.shown]


def size(data: dict[str, Any]) -> int:
    return len(json.dumps(data))


def test_the_first_output_holds_it_and_later_ones_are_small(cells: Cells):
    for number in range(3):
        cells.run("%gradviz loss", cell_id=str(number))
    assert held(cells) == [True, False, False]
    first, second, third = map(size, cells.shown)
    assert second == pytest.approx(third, abs=200)
    assert second < 40_000 < first


def test_two_graphs_of_one_cell_share_it(cells: Cells):
    cells.run("%gradviz loss\n%gradviz loss * 2", cell_id="one")
    assert held(cells) == [True, False]


@pytest.mark.parametrize("ids", [True, False], ids=["ids", "texts"])
def test_a_cell_that_runs_again_holds_it_again(cells: Cells, ids: bool):
    def run(name: str) -> None:
        cells.run(f"%gradviz loss  # {name}", cell_id=name if ids else None)

    run("one")
    run("two")
    run("one")  # its former output goes, and the viewer with it
    run("two")
    assert held(cells) == [True, False, True, False]


def test_an_output_that_is_too_large_for_a_page_is_no_place_for_it(
    cells: Cells, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patch:
        patch.setattr(mime, "MAX_HTML", 1_000)
        cells.run("%gradviz loss", cell_id="one")
    assert HTML not in cells.shown[0]
    cells.run("%gradviz loss", cell_id="two")
    assert held(cells) == [False, True]


def test_what_runs_beside_the_notebook_is_no_place_for_it(cells: Cells):
    cells.run("%gradviz loss", cell_id="gradviz-command")
    cells.run("%gradviz loss", cell_id="one")
    assert held(cells) == [True, True]


def test_without_widgets_it_is_stored_once_too(
    cells: Cells, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "gradviz.widget", None)
    cells.run("%gradviz loss", cell_id="one")
    cells.run("%gradviz loss", cell_id="two")
    assert held(cells) == [True, False]
