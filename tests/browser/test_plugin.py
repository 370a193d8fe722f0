"""The plugin's side panel, commands, and ways between code and nodes, in JupyterLab."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import gradviz
from tests.browser.conftest import PATIENCE_MS, Watched
from tests.browser.lab import Lab, command, run_all

pytestmark = pytest.mark.slow

expect.set_options(timeout=PATIENCE_MS)

LOAD = "%load_ext gradviz\nimport gradtape as torch"
PROGRAM = """\
x = torch.tensor([[1.0, -2.0], [3.0, 4.0]], requires_grad=True)
hidden = (x * 2 + 1.0).exp()
loss = hidden.sum()
"""
MODULE = """\
def normalize(x):
    centred = x - x.mean()
    return centred / (centred * centred).mean().sqrt()
"""


def put_cursor(page: Page, cell: int, line: int, column: int = 0) -> None:
    """Click into the code of a cell, as it were."""
    page.evaluate(
        """([cell, line, column]) => {
            const notebook = jupyterapp.shell.currentWidget.content;
            notebook.activeCellIndex = cell;
            const { editor } = notebook.widgets[cell];
            editor.focus();
            editor.setCursorPosition({ line: line - 1, column });
        }""",
        [cell, line, column],
    )


def selected(page: Page) -> str:
    """What is selected in the editor that was opened last."""
    return page.evaluate(
        """() => {
            const { editor } = jupyterapp.shell.currentWidget.content;
            const { start, end } = editor.getSelection();
            const lines = editor.model.sharedModel.getSource().split("\\n");
            return start.line === end.line
                ? lines[start.line].slice(start.column, end.column) : "";
        }"""
    )


def choose(page: Page, title: str) -> None:
    """Choose a command in the palette."""
    command(page, "apputils:activate-command-palette")
    page.locator(".lm-CommandPalette-input").fill(title)
    page.locator(".lm-CommandPalette-item").filter(has_text=title).first.click()


def panel(page: Page) -> Locator:
    return page.locator("#gradviz-panel")


def test_the_cursor_on_a_line_lights_up_its_nodes(
    lab: Lab, lab_page: Callable[..., Watched], tmp_path: Path
):
    lab.write("cursor.ipynb", LOAD, f"%%gradviz\n{PROGRAM}")
    watched = lab_page(height=1200)
    page = watched.page
    lab.open(page, "cursor.ipynb")
    run_all(page)
    expect(page.get_by_test_id("box-count")).to_be_visible()
    put_cursor(page, 1, 3)
    lit = page.get_by_test_id("lit")
    expect(lit).to_have_text("3 nodes from line 3")
    page.screenshot(path=tmp_path / "lit.png")
    put_cursor(page, 1, 4)
    expect(lit).to_have_text("1 node from line 4")
    page.keyboard.press("End")
    page.keyboard.type("  # edited since")
    expect(lit).to_have_text("")
    assert watched.errors == []


def test_a_link_opens_the_file_and_marks_the_expression(
    lab: Lab, lab_page: Callable[..., Watched]
):
    (lab.folder / "scaling.py").write_text(MODULE)
    program = "from scaling import normalize\nloss = normalize(torch.ones(3, 2, "
    program += "requires_grad=True)).sum()"
    lab.write("files.ipynb", LOAD, f"%%gradviz\n{program}")
    watched = lab_page(height=1200)
    page = watched.page
    lab.open(page, "files.ipynb")
    run_all(page)
    expect(page.get_by_test_id("box-count")).to_be_visible()
    page.get_by_test_id("search").click()
    page.keyboard.type("SqrtBackward0\n")
    source = page.get_by_test_id("source")
    expect(source.locator("mark")).to_have_text("(centred * centred).mean().sqrt()")
    source.get_by_role("button", name=re.compile(r"scaling\.py")).click()
    page.wait_for_function(
        "jupyterapp.shell.currentWidget?.title.label === 'scaling.py'"
    )
    page.wait_for_function(
        "!!jupyterapp.shell.currentWidget.content.editor?.hasFocus()"
    )
    assert selected(page) == "(centred * centred).mean().sqrt()"
    # And back: the line lights up its nodes in the notebook's view.
    expect(page.get_by_test_id("lit")).to_have_text("4 nodes from line 3")
    assert watched.errors == []


def test_the_palette_shows_a_variable_beside_the_notebook(
    lab: Lab, lab_page: Callable[..., Watched], tmp_path: Path
):
    lab.write("panel.ipynb", LOAD, PROGRAM, "hidden")
    watched = lab_page(width=1500)
    page = watched.page
    lab.open(page, "panel.ipynb")
    run_all(page)
    choose(page, "Open the graph beside the notebook")
    expect(panel(page)).to_contain_text("Nothing was shown yet")
    put_cursor(page, 2, 1, 3)
    choose(page, "Show the graph of the selected variable")
    expect(panel(page).get_by_test_id("node-count")).to_have_text("4 nodes")
    page.screenshot(path=tmp_path / "panel.png")
    put_cursor(page, 1, 4)
    choose(page, "Show the graph of the selected variable")
    told = "Put the cursor on a variable, or select an expression, in a code cell."
    expect(page.get_by_text(told)).to_be_visible()
    assert watched.errors == []


def test_the_palette_records_a_cell_and_switches_cards(
    lab: Lab, lab_page: Callable[..., Watched], tmp_path: Path
):
    failing = (
        "y = torch.ones(2, requires_grad=True).exp()\ny.add_(1)\ny.sum().backward()"
    )
    lab.write("record.ipynb", "import gradtape as torch", PROGRAM, failing)
    watched = lab_page(width=1500, height=1200)
    page = watched.page
    lab.open(page, "record.ipynb")
    run_all(page)
    put_cursor(page, 1, 1)
    choose(page, "Record this cell")
    expect(page.get_by_test_id("node-count")).to_have_text("5 nodes")
    choose(page, "Open the graph beside the notebook")
    expect(panel(page).get_by_test_id("node-count")).to_have_text("5 nodes")
    choose(page, "Switch error cards on or off")
    expect(page.get_by_text("Error cards are on")).to_be_visible()
    put_cursor(page, 2, 1)
    command(page, "notebook:run-cell")
    expect(page.get_by_text("inplace-saved-output").first).to_be_visible()
    page.screenshot(path=tmp_path / "cards.png")
    choose(page, "Switch error cards on or off")
    expect(page.get_by_text("Error cards are off.")).to_be_visible()
    assert watched.errors == []


def test_a_page_can_be_saved_from_the_notebook(
    lab: Lab,
    lab_page: Callable[..., Watched],
    new_page: Callable[..., Watched],
    tmp_path: Path,
):
    lab.write("save.ipynb", LOAD, f"%%gradviz --title saved\n{PROGRAM}")
    watched = lab_page()
    page = watched.page
    lab.open(page, "save.ipynb")
    run_all(page)
    expect(page.get_by_test_id("box-count")).to_be_visible()
    page.get_by_role("button", name="Export", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Web page").click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    assert gradviz.load(path).title == "saved"
    offline = new_page()
    offline.page.context.set_offline(True)
    offline.page.goto(path.as_uri())
    expect(offline.page.get_by_test_id("node-count")).to_have_text("5 nodes")
    assert watched.errors == offline.errors == []


def test_a_view_stays_usable_when_its_kernel_is_gone(
    lab: Lab, lab_page: Callable[..., Watched]
):
    lab.write("gone.ipynb", LOAD, f"%%gradviz\n{PROGRAM}")
    watched = lab_page(height=1200)
    page = watched.page
    lab.open(page, "gone.ipynb")
    run_all(page)
    expect(page.get_by_test_id("box-count")).to_be_visible()
    page.evaluate("jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    page.wait_for_function(
        "!jupyterapp.shell.currentWidget.sessionContext.session?.kernel"
    )
    page.get_by_test_id("search").click()
    page.keyboard.type("ExpBackward0\n")
    heading = page.get_by_test_id("inspector").get_by_role("heading", level=2)
    expect(heading).to_contain_text("ExpBackward0")
    choose(page, "Switch error cards on or off")
    expect(page.get_by_text("gradviz needs a running kernel")).to_be_visible()
    assert watched.errors == []
