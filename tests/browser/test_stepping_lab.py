"""Stepping through backward in a real JupyterLab: gradients arrive node by node."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import grave_violations
from tests.browser.conftest import PATIENCE_MS, Watched
from tests.browser.lab import Lab, command, wait_for_kernel

pytestmark = pytest.mark.slow

expect.set_options(timeout=PATIENCE_MS)

LOAD = "%load_ext gradviz\nimport gradtape as torch\nimport gradviz"
PROGRAM = """\
x = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (x * 3).exp().sum()
walk = gradviz.step(loss)
walk.show()
"""


def run_cell(page: Page, number: int) -> None:
    """Run one cell; a click into a view has made the view's cell the active one."""
    notebook = "jupyterapp.shell.currentWidget.content"
    page.evaluate(f"number => {{ {notebook}.activeCellIndex = number; }}", number)
    command(page, "notebook:run-cell")


def test_gradients_arrive_node_by_node(
    lab: Lab, lab_page: Callable[..., Watched], tmp_path: Path
):
    """By the bar's buttons, by its keys and from a cell; the view follows them all."""
    lab.write("walk.ipynb", LOAD, PROGRAM, "walk.step()", "assert x.grad is None")
    watched = lab_page(height=1200)
    page = watched.page
    lab.open(page, "walk.ipynb")
    wait_for_kernel(page)
    for cell in range(2):
        run_cell(page, cell)
    bar, where = page.get_by_test_id("stepping"), page.get_by_test_id("stepping-where")
    count = page.get_by_test_id("search-count")
    expect(where).to_contain_text("0 of 4SumBackward0receives float32 (), norm 1")
    page.get_by_test_id("search").click()
    page.keyboard.type("has:grad")
    expect(count).to_have_text("1 found")

    bar.get_by_role("button", name="Step", exact=True).click()
    expect(where).to_contain_text("1 of 4ExpBackward0")
    expect(count).to_have_text("2 found")
    page.keyboard.press("s")
    expect(where).to_contain_text("2 of 4MulBackward0")
    expect(count).to_have_text("3 found")
    expect(page.get_by_test_id("waiting-values")).to_contain_text("403.4288")
    # No recording runs, and the line is known all the same.
    source = page.get_by_test_id("inspector").get_by_test_id("source")
    expect(source).to_contain_text("loss = (x * 3).exp().sum()")
    bar.get_by_label("Break when").select_option("norm above")
    bar.get_by_role("textbox", name="norm above").fill("1000")
    bar.get_by_role("button", name="Add").click()
    expect(bar.get_by_role("list", name="Breakpoints")).to_have_text("norm above 1000")
    page.get_by_role("button", name="Check this derivative").click()
    checked = page.get_by_test_id("checked")
    expect(checked).to_have_text("The derivative agrees with finite differences.")
    page.screenshot(path=tmp_path / "bar.png")
    assert grave_violations(page, bar) == []
    run_cell(page, 2)
    expect(where).to_contain_text("3 of 4AccumulateGradof x")
    expect(where).to_contain_text("norm above 1000")
    expect(count).to_have_text("4 found")

    bar.get_by_role("button", name="Abort").click()
    outcome = page.get_by_test_id("stepping-outcome")
    expect(outcome).to_have_text("The pass was given up; every .grad is as it was.")
    expect(bar.get_by_role("button", name="Step", exact=True)).to_be_disabled()
    run_cell(page, 3)
    page.screenshot(path=tmp_path / "over.png")
    assert watched.errors == []

    page.evaluate(
        "jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()"
    )
    expect(outcome).to_have_text("The kernel is gone: run the cell again.")
