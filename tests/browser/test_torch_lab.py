"""Graphs of PyTorch in a real JupyterLab: finished, recorded, and when a cell fails."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import gradviz
from tests.browser.conftest import PATIENCE_MS, Watched
from tests.browser.lab import Lab, run_all

pytestmark = pytest.mark.slow

expect.set_options(timeout=PATIENCE_MS)

IMPORTING_MS = 4 * PATIENCE_MS  # a kernel that imports PyTorch on a busy machine

LOAD = "%load_ext gradviz\nimport gradviz, torch\nfrom torch import nn"
MODEL = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(4, 8), nn.Linear(8, 3)
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        hidden = self.norm(self.up(x)).relu()
        return self.down(hidden)

net = Net()
x, labels = torch.ones(5, 4), torch.arange(5) % 3
loss = nn.functional.cross_entropy(net(x), labels)
"""
STEP = """\
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
optimizer.zero_grad()
loss = nn.functional.cross_entropy(net(x), labels)
loss.backward()
optimizer.step()
"""


def expected_nodes() -> tuple[int, int]:
    """Run the cells here; the notebook must show as many nodes, finished, recorded."""
    import torch

    names: dict[str, Any] = {"torch": torch, "nn": torch.nn}
    exec(MODEL, names)
    finished = len(gradviz.capture(names["loss"]).nodes)
    with gradviz.record(engine="torch") as recorder:
        exec(STEP, names)
    return finished, len(recorder.snapshot().nodes)


def find(page: Page, name: str, view: int) -> None:
    """Search for a node in one of the views and open it."""
    page.get_by_test_id("search").nth(view).click()
    page.keyboard.type(f"{name}\n")
    heading = page.get_by_test_id("inspector").nth(view).get_by_role("heading", level=2)
    expect(heading).to_contain_text(name)


def test_a_pytorch_graph_is_shown_finished_and_recorded(
    lab: Lab, lab_page: Callable[..., Watched], tmp_path: Path
):
    finished, recorded = expected_nodes()
    lab.write("torch.ipynb", LOAD, MODEL, "gradviz.show(loss)", f"%%gradviz\n{STEP}")
    watched = lab_page(height=1700)
    page = watched.page
    lab.open(page, "torch.ipynb")
    run_all(page)
    counts = page.get_by_test_id("node-count")
    both = [f"{finished} nodes", f"{recorded} nodes"]
    expect(counts).to_have_text(both, timeout=IMPORTING_MS)

    # A finished graph has names, layouts and saved tensors, and says what it has not.
    find(page, "NativeLayerNormBackward0", 0)
    inspector = page.get_by_test_id("inspector")
    expect(inspector.nth(0)).to_contain_text("_saved_input")
    expect(inspector.nth(0)).to_contain_text("norm.weight")

    # A recorded one knows the line in its cell, and the gradients.
    find(page, "NativeLayerNormBackward0", 1)
    mark = inspector.nth(1).get_by_test_id("source").locator("mark")
    expect(mark).to_have_text("self.norm(self.up(x))")
    place = inspector.nth(1).get_by_test_id("source").get_by_role("button")
    expect(place).to_have_text(re.compile(r"In\[2\]:8"))
    page.screenshot(path=tmp_path / "torch.png")
    assert watched.errors == []


def test_a_pytorch_cell_that_fails_gets_a_card(
    lab: Lab, lab_page: Callable[..., Watched]
):
    lab.write(
        "fails.ipynb",
        LOAD,
        "%%gradviz\nw = torch.ones(3, requires_grad=True)\ny = w.exp()\ny += 1\n"
        "y.sum().backward()",
    )
    watched = lab_page(height=1200)
    lab.open(watched.page, "fails.ipynb")
    run_all(watched.page)
    card = watched.page.get_by_role("article", name="Why it failed")
    expect(card).to_be_visible(timeout=IMPORTING_MS)
    expect(card.get_by_test_id("source").locator("mark")).to_have_text("y += 1")
    expect(card.get_by_test_id("fix")).to_contain_text("y = y + 1")
    assert watched.errors == []
