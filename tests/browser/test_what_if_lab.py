"""What if, and the numbers of a tensor, in a real JupyterLab, by keyboard."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import grave_violations
from tests.browser.conftest import PATIENCE_MS, Watched
from tests.browser.lab import Lab, wait_for_kernel
from tests.browser.test_stepping_lab import run_cell

pytestmark = pytest.mark.slow

expect.set_options(timeout=PATIENCE_MS)

LOAD = "%load_ext gradviz\nimport gradtape as torch\nimport gradviz"
PROGRAM = """\
encoder = torch.tensor([2.0], requires_grad=True)
head = torch.tensor([5.0], requires_grad=True)
with gradviz.record() as rec:
    h = encoder * 3.0
    rest = h.detach() - head
    loss = (rest + 0.1 * h).sum()
    loss.backward(retain_graph=True)
rec.show()
"""
CHECK = """\
assert (round(float(encoder.grad), 6), float(head.grad)) == (0.3, -1.0)
assert (encoder._version, head._version) == (0, 0)
print("as it was")
"""


def find(page: Page, name: str, heading: str = "") -> None:
    """Select the first node of a name, by the search box."""
    page.get_by_test_id("search").click()
    page.keyboard.press("Control+a")
    page.keyboard.type(name)
    expect(page.get_by_test_id("search-count")).to_contain_text("1")
    page.keyboard.press("Enter")
    first = page.get_by_test_id("inspector").get_by_role("heading").first
    expect(first).to_contain_text(heading or name)


def test_a_cut_is_taken_away_a_gradient_scaled_and_a_value_shown(
    lab: Lab, lab_page: Callable[..., Watched], tmp_path: Path
):
    lab.write("what.ipynb", LOAD, PROGRAM, CHECK)
    watched = lab_page(height=1600)
    page = watched.page
    lab.open(page, "what.ipynb")
    wait_for_kernel(page)
    for cell in range(2):
        run_cell(page, cell)
    asked = page.get_by_test_id("supposing")
    find(page, "detach")
    expect(asked).to_be_visible()
    asked.get_by_role("button", name="Ask").focus()
    page.keyboard.press("Enter")
    table = asked.get_by_role("table")
    expect(table).to_contain_text("encoder0.33.31")
    expect(table).to_contain_text("head111")
    expect(asked.get_by_role("status")).to_have_text("detach uncut")
    page.screenshot(path=tmp_path / "uncut.png")

    find(page, "sub", heading="rest")
    asked.get_by_role("combobox").select_option("scale")
    field = asked.get_by_role("textbox")
    field.fill("0.5")
    expect(asked.get_by_role("button", name="Ask")).to_be_enabled()
    field.press("Enter")
    expect(table).to_contain_text("head10.51")
    expect(table).to_contain_text("encoder0.31.81")
    assert grave_violations(page, asked) == []
    page.screenshot(path=tmp_path / "scaled.png")

    numbers = page.get_by_test_id("live-values")
    numbers.get_by_label("Numbers at").fill("0")
    numbers.get_by_label("Numbers at").press("Enter")
    expect(numbers.locator("pre")).to_have_text("float32 ()\n1.")
    assert grave_violations(page, numbers) == []
    numbers.scroll_into_view_if_needed()
    page.screenshot(path=tmp_path / "numbers.png")

    asked.get_by_role("button", name="Take back").click()
    expect(table).to_contain_text("encoder0.33.31")
    table.get_by_role("button", name="head").click()
    expect(
        page.get_by_test_id("inspector").get_by_role("heading").first
    ).to_contain_text("head")
    asked.get_by_role("button", name="Clear").click()
    expect(table).to_have_count(0)
    run_cell(page, 2)
    expect(page.get_by_text("as it was", exact=True)).to_be_visible()
    assert watched.errors == []
