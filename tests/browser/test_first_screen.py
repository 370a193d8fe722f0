"""The first screen: what the program is, what is wrong and where, before any click."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import gradtape as torch
import gradviz
from gradtape import nn
from tests.browser.conftest import PATIENCE_MS, Watched
from tests.browser.test_drawn import picture, words

pytestmark = pytest.mark.slow

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture
def opened(new_page: Callable[..., Watched], tmp_path: Path) -> Callable[..., Page]:
    def open_page(source: Any, **options: Any) -> Page:
        path = gradviz.export_html(source, tmp_path / "page.html")
        page = new_page(**options).page
        page.goto(path.as_uri())
        expect(page.get_by_test_id("box-count")).to_contain_text("shown")
        return page

    return open_page


def layers(count: int) -> nn.Sequential:
    torch.manual_seed(0)
    each = [(nn.Linear(8, 8), nn.ReLU()) for _ in range(count)]
    return nn.Sequential(*[layer for pair in each for layer in pair])


def trained(net: Any) -> gradviz.Recorder:
    with gradviz.record(title="trained") as recorder:
        net(torch.ones(4, 8)).mean().backward()
    return recorder


def test_a_layer_is_one_box_with_its_name_class_and_shape(
    opened: Callable[..., Page], tmp_path: Path
):
    page = opened(trained(layers(3)))
    said = words(picture(page, tmp_path))
    assert said.count("Linear · 4×8") == said.count("ReLU · 4×8") == 3
    assert "weight" not in said
    page.get_by_role("button", name="Expand all scopes").click()
    assert words(picture(page, tmp_path)).count("weight") == 3


def test_a_chain_of_layers_stands_in_columns_and_can_be_read_at_once(
    opened: Callable[..., Page],
):
    page = opened(trained(layers(8)), width=1440)
    expect(page.get_by_test_id("box-count")).to_have_text("17 boxes shown")
    expect(page.get_by_test_id("minimap")).to_be_hidden()  # all of it is in view


class Frozen(nn.Module):
    """A part that learns behind one that does not, and one that nothing uses."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = layers(2)
        self.head = nn.Linear(8, 1)
        for parameter in self.backbone.parameters():
            parameter.requires_grad_(False)

    def forward(self, x: Any) -> Any:
        return self.head(self.backbone(x))


def test_a_frozen_part_is_drawn_beside_what_learns(
    opened: Callable[..., Page], tmp_path: Path
):
    page = opened(trained(Frozen()), width=1440)
    said = words(picture(page, tmp_path))
    assert {"backbone", "frozen", "no gradient"} <= set(said)
    row = page.get_by_test_id("outline").get_by_role("treeitem", name="backbone")
    expect(row).to_contain_text("frozen")
    row.click()
    expect(page.get_by_test_id("inspector")).to_contain_text("frozen")


class Loop(nn.Module):
    """A recurrent cell whose state is cut in every turn."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.RNNCell(8, 8)

    def forward(self, x: Any) -> Any:
        h = torch.zeros(4, 8)
        for _ in range(20):
            h = self.cell(x, h)
            h = h.detach()
        return self.cell(x, h)


def test_what_is_cut_in_a_loop_stands_in_the_loop(
    opened: Callable[..., Page], tmp_path: Path
):
    page = opened(trained(Loop()))
    said = words(picture(page, tmp_path))
    assert any("t = 0…" in word for word in said)
    assert "detach" not in " ".join(said)  # all 20 are inside
    expect(page.get_by_test_id("minimap")).to_be_hidden()


# At the moment in which the graph is painted: its width, and the rows of the outline.
WATCH = """
window.look_ = () => {
  const root = document.querySelector("#gradviz > div").shadowRoot;
  const rows = root.querySelectorAll("[role=treeitem]").length;
  return [root.querySelector("canvas").getBoundingClientRect().width, rows];
};
const mark = performance.mark.bind(performance);
performance.mark = (name) => {
  if (name === "gradviz:painted") window.painted_ = window.look_();
  return mark(name);
};
"""


def test_the_graph_is_painted_before_the_outline_and_keeps_its_place(
    new_page: Callable[..., Watched], tmp_path: Path
):
    path = gradviz.export_html(trained(layers(3)), tmp_path / "page.html")
    page = new_page(width=1440).page
    page.add_init_script(WATCH)
    page.goto(path.as_uri())
    expect(page.get_by_test_id("outline").get_by_role("treeitem")).to_have_count(7)
    width, rows = page.evaluate("window.painted_")
    assert rows == 0
    assert page.evaluate("window.look_()") == [width, 7]


def test_the_outline_is_walked_by_keyboard_and_shows_a_module(
    opened: Callable[..., Page],
):
    page = opened(trained(layers(3)), width=1440)
    tree = page.get_by_test_id("outline")
    rows = tree.get_by_role("treeitem")
    expect(rows).to_have_count(7)
    rows.first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    card = page.get_by_test_id("module-card")
    expect(card.get_by_role("heading", level=2)).to_contain_text("0")
    expect(card).to_contain_text("Forward FLOPs")
    expect(card).to_contain_text("512")  # 2 · 4 · 8 · 8
    expect(rows.nth(1)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    expect(rows).to_have_count(1)
    page.keyboard.press("ArrowRight")
    expect(rows).to_have_count(7)


def test_the_outline_folds_away_and_gives_way_to_the_graph(
    opened: Callable[..., Page],
):
    page = opened(trained(layers(3)), width=1440)
    page.get_by_role("navigation", name="Modules").get_by_role("button").click()
    expect(page.get_by_test_id("outline")).to_be_hidden()
    page.set_viewport_size({"width": 1000, "height": 800})
    expect(page.get_by_role("navigation", name="Modules")).to_be_hidden()


def test_bars_of_the_outline_follow_what_colour_shows(opened: Callable[..., Page]):
    page = opened(trained(layers(3)), width=1440)
    outline = page.get_by_role("navigation", name="Modules")
    expect(outline).to_contain_text("gradient norm")
    page.get_by_label("Colour by").select_option(label="memory kept")
    expect(outline).to_contain_text("memory kept")
    expect(outline.get_by_role("treeitem").first).to_contain_text("100 %")


def test_a_recording_of_some_steps_says_which_of_how_many_it_shows(
    opened: Callable[..., Page],
):
    net = layers(3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with gradviz.record(steps=2) as recorder:
        for _ in range(4):
            optimizer.zero_grad()
            net(torch.ones(4, 8)).mean().backward()
            optimizer.step()
    page = opened(recorder)
    verdict = page.get_by_test_id("verdict")
    expect(verdict).to_have_text("no findings in 4 backward passes")
    expect(page.get_by_test_id("step")).to_contain_text("step 4 of 4")
    page.keyboard.press("[")
    expect(page.get_by_test_id("step")).to_contain_text("step 3 of 4")


def test_the_gradient_view_names_the_terms_of_the_loss(opened: Callable[..., Page]):
    one, two = nn.Linear(8, 8), nn.Linear(8, 1)
    with gradviz.record() as recorder:
        h = one(torch.ones(4, 8))
        fit = (two(h) ** 2).mean()
        decay = (h**2).mean()
        (fit + 0.1 * decay).backward()
    page = opened(recorder)
    page.get_by_role("tab", name="Gradient flow").click()
    table = page.get_by_test_id("flow-layers")
    expect(table).to_contain_text("By term")
    expect(table.get_by_role("row", name="two.weight")).to_contain_text("fit")
    shared = table.get_by_role("row", name="one.weight")
    expect(shared).to_contain_text(re.compile(r"fit [\d.]+ %, decay [\d.]+ %"))
