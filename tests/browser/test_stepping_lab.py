"""Stepping through backward in a real JupyterLab: gradients arrive node by node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Watched
from tests.browser.lab import Lab, command, serve, wait_for_kernel

pytestmark = pytest.mark.slow

LOAD = "%load_ext gradviz\nimport gradtape as torch\nimport gradviz"
PROGRAM = """\
x = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (x * 3).exp().sum()
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab as a user of gradviz has it."""
    with serve(tmp_path_factory.mktemp("lab")) as server:
        yield server


def run_cell(page: Page, number: int) -> None:
    """Run one cell; a click into a view has made the view's cell the active one."""
    notebook = "jupyterapp.shell.currentWidget.content"
    page.evaluate(f"number => {{ {notebook}.activeCellIndex = number; }}", number)
    command(page, "notebook:run-cell")


def test_gradients_arrive_node_by_node(
    lab: Lab, new_page: Callable[..., Watched], tmp_path: Path
):
    walk = "walk = gradviz.step(loss)\nwalk.show()"
    commands = ["walk.step()", "walk.step()", "walk.resume()", "x.grad.tolist()"]
    lab.write("walk.ipynb", LOAD, PROGRAM, walk, *commands)
    watched = new_page(height=1200)
    lab.open(watched.page, "walk.ipynb")
    wait_for_kernel(watched.page)
    for cell in range(3):
        run_cell(watched.page, cell)
    count = watched.page.get_by_test_id("search-count")
    expect(watched.page.get_by_test_id("node-count")).to_have_text("4 nodes")
    watched.page.get_by_test_id("search").click()
    watched.page.keyboard.type("has:grad")
    expect(count).to_have_text("1 found")
    watched.page.screenshot(path=tmp_path / "first.png")
    for cell, arrived in enumerate(("2 found", "3 found", "4 found"), 3):
        run_cell(watched.page, cell)
        expect(count).to_have_text(arrived)
    watched.page.screenshot(path=tmp_path / "last.png")
    assert watched.errors == []
