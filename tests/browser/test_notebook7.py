"""The widget and the plugin on a real Notebook 7 server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE_MS, Watched
from tests.browser.lab import Lab, run_all, serve
from tests.browser.test_plugin import LOAD, PROGRAM, put_cursor

pytestmark = pytest.mark.slow

expect.set_options(timeout=PATIENCE_MS)


# Notebook 7.6's own, without any plugin too: it looks at settings that it still loads.
KNOWN = "Cannot read properties of undefined (reading 'schema')"


def complaints(watched: Watched) -> list[str]:
    return [error for error in watched.errors if error != KNOWN]


@pytest.fixture(scope="module")
def notebook7(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with serve(tmp_path_factory.mktemp("notebook7"), classic=True) as server:
        yield server


def test_a_recorded_cell_shows_its_graph_and_leads_to_its_code(
    notebook7: Lab, lab_page: Callable[..., Watched], tmp_path: Path
):
    notebook7.write("step.ipynb", LOAD, f"%%gradviz\n{PROGRAM}", "%gradviz hidden")
    watched = lab_page(height=1700)
    page = watched.page
    notebook7.open(page, "step.ipynb")
    run_all(page)
    counts = page.get_by_test_id("node-count")
    expect(counts).to_have_text(["5 nodes", "4 nodes"])
    expect(page.get_by_test_id("box-count")).to_have_count(2)
    page.get_by_test_id("search").first.click()
    page.keyboard.type("ExpBackward0\n")
    source = page.get_by_test_id("source").first
    expect(source.locator("mark")).to_have_text("(x * 2 + 1.0).exp()")
    source.get_by_role("button").click()
    page.wait_for_function(
        """() => {
            const notebook = jupyterapp.shell.currentWidget.content;
            const { start, end } = notebook.activeCell.editor.getSelection();
            const line = notebook.activeCell.editor.getLine(start.line) ?? "";
            return line.slice(start.column, end.column) === "(x * 2 + 1.0).exp()";
        }"""
    )
    put_cursor(page, 1, 4)
    expect(page.get_by_test_id("lit").first).to_have_text("1 node from line 4")
    page.screenshot(path=tmp_path / "notebook7.png")
    assert complaints(watched) == []


def test_the_panel_opens_beside_the_notebook(
    notebook7: Lab, lab_page: Callable[..., Watched], tmp_path: Path
):
    notebook7.write("panel.ipynb", LOAD, PROGRAM, "hidden")
    watched = lab_page(width=1500)
    page = watched.page
    notebook7.open(page, "panel.ipynb")
    run_all(page)
    put_cursor(page, 2, 1, 3)
    page.evaluate("jupyterapp.commands.execute('gradviz:show-variable')")
    panel = page.locator("#gradviz-panel")
    expect(panel.get_by_test_id("node-count")).to_have_text("4 nodes")
    expect(panel.get_by_test_id("box-count")).to_be_visible()
    page.screenshot(path=tmp_path / "panel.png")
    assert complaints(watched) == []
