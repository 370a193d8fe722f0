"""A view that follows a running cell in a real JupyterLab."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PATIENCE_MS, Watched
from tests.browser.lab import Lab, command, wait_for_kernel

pytestmark = pytest.mark.slow

expect.set_options(timeout=PATIENCE_MS)

LOAD = "%load_ext gradviz\nimport gradtape as torch, pathlib, time\nimport gradviz"

# The gradient of the weight is the number of the step; the cell runs until told to end.
TRAINING = """\
weight = torch.ones(1, requires_grad=True)
stop, number = pathlib.Path("stop"), 0
{block}while not stop.exists():
{indent}    number += 1
{indent}    weight.grad = None
{indent}    (weight * float(number)).sum().backward()
{indent}    time.sleep(0.002)
{indent}print(f"ended after {{number}} steps")
"""
CELL = "%%gradviz --title training\n" + TRAINING.format(block="", indent="")
BLOCK = TRAINING.format(
    block="with gradviz.record(title='block') as rec:\n    rec.show()\n    ",
    indent="    ",
)


@pytest.fixture(params=[CELL, BLOCK], ids=["cell", "block"])
def running(
    request: pytest.FixtureRequest, lab: Lab, lab_page: Callable[..., Watched]
) -> Watched:
    """A page whose second cell trains until the file `stop` is there."""
    (lab.folder / "stop").unlink(missing_ok=True)
    lab.write("live.ipynb", LOAD, request.param)
    watched = lab_page(height=1200)
    lab.open(watched.page, "live.ipynb")
    wait_for_kernel(watched.page)
    watched.page.evaluate("void jupyterapp.commands.execute('notebook:run-all-cells')")
    return watched


def gradient(page: Page) -> float:
    """The gradient norm of the weight, as the table of leaves says it."""
    row = page.get_by_test_id("section-leaves").get_by_role("row").nth(1)
    return float(row.get_by_role("cell").nth(1).inner_text())


def test_numbers_change_while_the_cell_runs_and_the_last_ones_are_right(
    running: Watched, lab: Lab, tmp_path: Path
):
    page = running.page
    expect(page.get_by_test_id("node-count")).to_have_text("3 nodes")
    first = gradient(page)
    page.wait_for_function(
        """first => {
            const views = [...document.querySelectorAll('*')].filter(e => e.shadowRoot);
            const texts = views.map(e => e.shadowRoot.querySelector(
                '[data-testid=section-leaves] tbody tr td:nth-child(3)')?.textContent);
            return texts.some(text => Number(text) > first + 20);
        }""",
        arg=first,
    )
    progress = page.get_by_test_id("live-progress")
    told = progress.inner_text()
    expect(progress).not_to_have_text(told)  # it never stands still
    # Here the loss is the number of the step.
    said = re.findall(r"[\d,.]+", progress.inner_text())
    assert float(said[0].replace(",", "")) == pytest.approx(float(said[1]), rel=0.5)
    page.screenshot(path=tmp_path / "running.png")
    page.get_by_role("tab", name="Gradient flow").click()
    counts = page.get_by_test_id("flow-counts")
    expect(counts).to_have_text(re.compile(r"1 parameter, [\d,]{2,} steps\."))
    page.get_by_role("button", name="Over steps").click()
    expect(page.get_by_test_id("flow-chart").locator("canvas")).to_be_visible()
    page.screenshot(path=tmp_path / "flow.png")
    (lab.folder / "stop").touch()
    ended = page.get_by_text(re.compile(r"ended after \d+ steps"))
    expect(ended).to_be_visible()
    expect(progress).to_have_count(0)
    steps = int(re.findall(r"\d+", ended.inner_text())[0])
    # Four steps are kept at the end, and the last gradient is that of the last step.
    expect(page.get_by_test_id("node-count")).to_have_text("9 nodes")
    # The tab stays, and has every step.
    expect(counts).to_have_text(f"1 parameter, {steps:,} steps.")
    page.get_by_role("tab", name="Inspector", exact=True).click()
    assert gradient(page) == pytest.approx(steps, rel=1e-3)
    command(page, "docmanager:save")
    outputs = lab.read("live.ipynb").cells[1].outputs
    (output,) = [
        o for o in outputs if "application/vnd.gradviz+json" in o.get("data", {})
    ]
    saved = output.data["application/vnd.gradviz+json"]
    assert len(saved["nodes"]) == 9
    assert len(saved["flow_steps"]) == steps
    assert running.errors == []


def test_what_was_shown_stays_when_the_kernel_dies(
    lab: Lab, lab_page: Callable[..., Watched]
):
    (lab.folder / "stop").unlink(missing_ok=True)
    lab.write("dies.ipynb", LOAD, CELL)
    watched = lab_page(height=1200)
    page = watched.page
    lab.open(page, "dies.ipynb")
    wait_for_kernel(page)
    page.evaluate("void jupyterapp.commands.execute('notebook:run-all-cells')")
    expect(page.get_by_test_id("node-count")).to_have_text("3 nodes")
    page.evaluate(
        "jupyterapp.shell.currentWidget.sessionContext.session.kernel.shutdown()"
    )
    page.get_by_test_id("search").click()
    page.keyboard.type("MulBackward0\n")
    heading = page.get_by_test_id("inspector").get_by_role("heading", level=2)
    expect(heading).to_contain_text("MulBackward0")
    assert watched.errors == []
