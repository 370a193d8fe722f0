"""What the view says of ordinary runs: names of the code, whole numbers, no blanks."""

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
from tests.browser.test_page import heading, search

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


class Attention(nn.Module):
    """One head: `k` is a transposed view of what a layer gives."""

    def __init__(self) -> None:
        super().__init__()
        self.key = nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        k = self.key(x).transpose(0, 1)
        return (x @ k).softmax(-1)


def attention() -> gradviz.Recorder:
    torch.manual_seed(0)
    model = Attention()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with gradviz.record(title="attention") as recorder:
        for _ in range(3):
            optimizer.zero_grad()
            (model(torch.randn(4, 8)) ** 2).sum().backward()
            optimizer.step()
    return recorder


class Deep(nn.Module):
    """A recurrent net whose gradient dies on its way back."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.RNNCell(4, 4)

    def forward(self, xs: Any) -> Any:
        h = torch.zeros(2, 4)
        for x in xs:
            h = self.cell(x, h)
        return h


def dying() -> gradviz.Recorder:
    torch.manual_seed(0)
    model = Deep()
    with torch.no_grad():
        model.cell.weight_hh.mul_(0.2)
    with gradviz.record(title="dying") as recorder:
        model(torch.randn(60, 2, 4)).sum().backward()
    return recorder


def test_a_gradient_that_dies_in_a_folded_loop_is_told_and_marked(
    opened: Callable[..., Page],
):
    page = opened(dying(), width=1440)
    expect(page.get_by_test_id("findings-button")).to_contain_text("line ")
    expect(page.get_by_role("tab", name="Findings")).to_have_attribute(
        "aria-selected", "true"
    )
    expect(page.get_by_test_id("finding-0")).to_contain_text("vanishing-gradient")
    outline = page.get_by_test_id("outline")
    expect(outline.get_by_role("treeitem", name="info").first).to_contain_text("t = ")
    chips = page.get_by_test_id("finding-0")
    expect(chips).to_contain_text(re.compile(r"in \d+ places"))
    expect(chips).not_to_contain_text("more")


class Soft(nn.Module):
    """Writes over what its softmax needs again."""

    def forward(self, x: Any) -> Any:
        weights = x.softmax(-1)
        weights += 0.01
        return weights


def test_a_module_without_a_name_is_told_by_the_one_around_it(
    opened: Callable[..., Page],
):
    net = nn.Sequential(nn.Linear(4, 4), Soft())
    with gradviz.record() as recorder, pytest.raises(RuntimeError):
        net(torch.ones(2, 4)).sum().backward()
    page = opened(recorder)
    finding = page.get_by_test_id("finding-0")
    expect(finding).to_contain_text("in net[1] (Soft)")
    expect(finding).to_contain_text(re.compile(r"Bytes\s*32 B"))


def test_a_node_is_headed_by_its_name_in_the_code_with_its_class_second(
    opened: Callable[..., Page], tmp_path: Path
):
    page = opened(attention())
    assert "k" in words(picture(page, tmp_path))
    search(page, "transpose")
    expect(heading(page)).to_have_text("k TransposeBackward0")
    expect(page.get_by_test_id("inspector")).to_contain_text("k = self.key(x)")
    expect(page.get_by_test_id("inspector")).not_to_contain_text("It alone")


def test_a_parameter_is_headed_by_its_name_and_has_a_place(
    opened: Callable[..., Page],
):
    page = opened(attention())
    search(page, "key.weight")
    expect(heading(page)).to_contain_text(re.compile("^(model.)?key.weight"))


def test_sections_without_content_are_left_out(opened: Callable[..., Page]):
    page = opened(attention())
    search(page, "softmax")
    inspector = page.get_by_test_id("inspector")
    expect(inspector).to_contain_text("Source")
    expect(inspector).not_to_contain_text("Hooks")
    layout = inspector.get_by_text("Memory layout", exact=True).first
    neighbours = inspector.get_by_text("Neighbours", exact=True).first
    tops = [(part.bounding_box() or {"y": -1.0})["y"] for part in (layout, neighbours)]
    assert 0 < tops[0] < tops[1]
    pane = inspector.bounding_box()
    assert pane is not None
    assert tops[0] < pane["y"] + 2 * pane["height"]  # not three screens down


def test_after_a_run_the_update_ratio_is_there_and_steps_are_whole(
    opened: Callable[..., Page],
):
    page = opened(attention())
    page.get_by_role("tab", name="Gradient flow").click()
    table = page.get_by_test_id("flow-layers")
    expect(table).to_contain_text("Update / weight")
    row = table.get_by_role("row", name="key.weight")
    expect(row).to_contain_text(re.compile(r"\d"))
    page.evaluate(
        """() => {
          const own = CanvasRenderingContext2D.prototype.fillText;
          window.painted = [];
          CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
            window.painted.push(String(text));
            return own.call(this, text, ...rest);
          };
        }"""
    )
    page.get_by_role("button", name="Update ratio").click()
    page.wait_for_function("() => ['1', '2', '3'].every((at) => painted.includes(at))")
    painted = page.evaluate("painted")
    assert not [each for each in painted if re.fullmatch(r"\d+\.\d+", each)]
    page.get_by_role("button", name="Heat map").click()
    names = page.locator(".flow-heat").get_by_text(re.compile(r"key\.weight"))
    expect(names.first).to_be_visible()
    assert names.first.evaluate("each => each.scrollWidth <= each.clientWidth + 1")


def test_a_comparison_opens_on_what_changed_and_explains_its_marks(
    opened: Callable[..., Page],
):
    torch.manual_seed(0)
    net = nn.Sequential(*[nn.Linear(8, 8) for _ in range(6)])
    with gradviz.record(title="changed") as recorder:
        for step in range(2):
            h = net(torch.randn(4, 8))
            if step == 1:
                h = torch.tanh(h)
            h.sum().backward()
    page = opened(recorder)
    page.get_by_test_id("step").click()
    legend = page.get_by_test_id("legend")
    expect(legend).to_contain_text("new")
    expect(page.get_by_role("tab", name="Compare")).to_have_attribute(
        "aria-selected", "true"
    )


def test_the_page_of_a_watched_training_counts_no_nodes(
    new_page: Callable[..., Watched], tmp_path: Path
):
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with gradviz.watch(model, page=tmp_path / "watched.html"):
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(8, 4)).sum().backward()
            optimizer.step()
    page = new_page().page
    page.goto((tmp_path / "watched.html").as_uri())
    expect(page.get_by_test_id("flow-counts")).to_contain_text("2 parameters")
    expect(page.locator("body")).not_to_contain_text("0 nodes")
