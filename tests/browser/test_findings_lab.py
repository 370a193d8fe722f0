"""Why a cell failed, in a real JupyterLab and in notebooks that do not know gradviz."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from gradviz.render.mime import mimebundle
from tests.browser.conftest import PATIENCE_MS, Watched
from tests.browser.lab import Lab, command, run_all, want_no_kernel
from tests.gradviz import samples

pytestmark = pytest.mark.slow

expect.set_options(timeout=PATIENCE_MS)

LOAD = "%load_ext gradviz\nimport gradtape as torch"
SHIFT = "def shift(t):\n    t += 1\n    return t"
STEP = """\
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = shift(x.exp())
loss = y.sum()
loss.backward()"""

SELECTED = """([cell, text]) => {
  const notebook = jupyterapp.shell.currentWidget.content;
  const { start, end } = notebook.activeCell.editor.getSelection();
  const line = notebook.activeCell.editor.getLine(start.line) ?? "";
  const selected = line.slice(start.column, end.column);
  return notebook.activeCellIndex === cell && selected === text;
}"""


def read_card(page: Page) -> None:
    """Wait for the card, and read what happened, where, and what to write."""
    card = page.get_by_role("article", name="Why it failed")
    expect(card.get_by_role("heading")).to_contain_text("error")
    expect(card.get_by_test_id("card-message")).to_contain_text("t += 1")
    expect(card.get_by_test_id("source").locator("mark")).to_have_text("t += 1")
    expect(card.get_by_test_id("fix")).to_contain_text("t = t + 1")


def test_a_failing_cell_gets_a_card_that_leads_to_the_line(
    lab: Lab, lab_page: Callable[..., Watched], tmp_path: Path
):
    lab.write("follow.ipynb", f"{LOAD}\n%gradviz on", SHIFT, STEP)
    watched = lab_page(height=1200)
    lab.open(watched.page, "follow.ipynb")
    run_all(watched.page)
    read_card(watched.page)
    raised = watched.page.get_by_test_id("raised")
    expect(raised).to_contain_text("RuntimeError: one of the variables needed")
    expect(watched.page.get_by_test_id("graph")).to_have_count(0)
    watched.page.screenshot(path=tmp_path / "card.png")
    watched.page.get_by_test_id("source").get_by_role("button").click()
    watched.page.wait_for_function(SELECTED, arg=[1, "t += 1"])
    watched.page.get_by_role("button", name="Release memory").click()
    released = watched.page.get_by_test_id("released")
    expect(released).to_contain_text("Released the variables of 1 frame")
    watched.page.get_by_role("button", name="Show in graph").click()
    expect(watched.page.get_by_test_id("node-count")).to_have_text("4 nodes")
    finding = watched.page.get_by_test_id("finding-0")
    expect(finding).to_contain_text("t += 1")
    expect(finding).to_contain_text(re.compile(r"Bytes\s*12 B"))  # of three numbers
    watched.page.screenshot(path=tmp_path / "graph.png")
    assert watched.errors == []


def test_a_recorded_cell_that_fails_shows_the_card_and_then_its_graph(
    lab: Lab,
    other_lab: Lab,
    lab_page: Callable[..., Watched],
    new_page: Callable[..., Watched],
    tmp_path: Path,
):
    lab.write("fail.ipynb", LOAD, SHIFT, f"%%gradviz --title step\n{STEP}")
    watched = lab_page(height=1200)
    page = watched.page
    lab.open(page, "fail.ipynb")
    run_all(page)
    read_card(page)
    page.get_by_role("button", name="Show in graph").click()
    expect(page.get_by_test_id("box-count")).to_have_text("4 boxes shown")
    expect(page.get_by_test_id("finding-0")).to_contain_text("t += 1")
    page.screenshot(path=tmp_path / "graph.png")
    page.get_by_role("button", name="Back to the card").click()
    read_card(page)
    command(page, "docmanager:save")
    assert watched.errors == []

    copy = other_lab.folder / "fail.ipynb"
    copy.write_bytes((lab.folder / "fail.ipynb").read_bytes())
    reopened = new_page(height=1200)
    want_no_kernel(reopened.page)
    other_lab.open(reopened.page, "fail.ipynb")
    read_card(reopened.page)
    assert reopened.errors == []


def test_without_the_plugin_the_widget_shows_the_card(
    plain_lab: Lab, lab_page: Callable[..., Watched]
):
    plain_lab.write("card.ipynb", LOAD, SHIFT, f"%%gradviz\n{STEP}")
    watched = lab_page(height=1200)
    plain_lab.open(watched.page, "card.ipynb")
    run_all(watched.page)
    read_card(watched.page)
    assert watched.errors == []


@pytest.mark.parametrize("width", [1000, 400])
def test_the_html_form_says_why_and_unfolds_the_graph(
    new_page: Callable[..., Watched], tmp_path: Path, width: int
):
    form = mimebundle(samples.overwritten())["text/html"]
    (tmp_path / "saved.html").write_text(form, encoding="utf-8")
    watched = new_page(width=width)
    page = watched.page
    page.context.set_offline(True)
    page.goto((tmp_path / "saved.html").as_uri())
    expect(page.locator("mark").first).to_have_text("y += 1")
    expect(page.locator("p").first).to_have_text("✖ error GV101 inplace-saved-output")
    expect(page.locator("iframe")).to_be_hidden()
    page.get_by_text("Show in graph").click()
    frame = page.frame_locator("iframe")
    expect(frame.get_by_test_id("node-count")).to_have_text("8 nodes")
    expect(frame.get_by_test_id("box-count")).to_be_attached()
    expect(frame.get_by_test_id("graph").locator("canvas").first).to_be_visible()
    sizes = page.evaluate("[document.body.scrollWidth, document.body.clientWidth]")
    assert sizes[0] <= sizes[1]
    page.screenshot(path=tmp_path / "form.png")
    assert watched.errors == []
