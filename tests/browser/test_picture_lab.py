"""Steps, gradients and modules of a training, below its cell in a real JupyterLab."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.axe import grave_violations
from tests.browser.conftest import PATIENCE_MS, Watched
from tests.browser.lab import Lab, run_all

pytestmark = pytest.mark.slow

expect.set_options(timeout=PATIENCE_MS)

LOAD = "%load_ext gradviz\nimport gradtape as torch\nfrom gradtape import nn"
TRAINING = """\
%%gradviz
net = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(2):
    optimizer.zero_grad()
    loss = net(torch.ones(4, 8)).mean()
    loss.backward()
    optimizer.step()
"""


def test_one_step_its_gradients_and_its_modules_are_read_by_keyboard(
    lab: Lab, lab_page: Callable[..., Watched], tmp_path: Path
):
    lab.write("picture.ipynb", LOAD, TRAINING)
    watched = lab_page(width=1600, height=1200)
    page = watched.page
    lab.open(page, "picture.ipynb")
    run_all(page)
    verdict = page.get_by_test_id("verdict")
    expect(verdict).to_have_text("no findings in 2 backward passes")
    step = page.get_by_test_id("step")
    expect(step).to_contain_text("step 2 of 2")
    graph = page.get_by_test_id("graph")
    graph.focus()
    page.keyboard.press("[")
    expect(step).to_contain_text("step 1 of 2")
    page.get_by_role("button", name="Collapse all scopes").press("Enter")
    graph.focus()
    for _ in range(6):
        page.keyboard.press("ArrowUp")
    card = page.get_by_test_id("module-card")
    expect(card.get_by_role("heading", level=2)).to_contain_text("Sequential")
    expect(card).to_contain_text("81 in 4")
    page.keyboard.press("Enter")
    expect(card.get_by_role("button", name="Fold", exact=True)).to_be_visible()
    page.get_by_role("tab", name="Inspector", exact=True).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    table = page.get_by_test_id("flow-layers")
    expect(table).to_contain_text("Update / weight")
    expect(table.get_by_role("row", name="0.weight")).to_be_visible()
    page.screenshot(path=tmp_path / "picture.png")
    view = page.locator("[data-lm-suppress-shortcuts]").first
    assert grave_violations(page, view) == []
    assert watched.errors == []
