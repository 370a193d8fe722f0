"""The picture itself: one step, parameters in their rooms, zoom, cards, the verdict."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import gradtape as torch
import gradviz
from tests.browser.conftest import PATIENCE_MS, Watched
from tests.browser.test_drawn import picture, words
from tests.browser.test_places import chain

pytestmark = pytest.mark.slow

expect.set_options(timeout=PATIENCE_MS)


class Net(torch.nn.Module):
    """Two layers; from its third call on, with one operation more."""

    def __init__(self) -> None:
        super().__init__()
        self.body = torch.nn.Linear(8, 16)
        self.head = torch.nn.Linear(16, 2)
        self.calls = 0

    def forward(self, x: Any) -> Any:
        self.calls += 1
        hidden = torch.relu(self.body(x))
        if self.calls > 2:
            hidden = hidden * 2
        return self.head(hidden)


def training(*, breaks: bool = False) -> gradviz.Recorder:
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with gradviz.record(title="training") as recorder:
        for step in range(3):
            optimizer.zero_grad()
            out = net(torch.randn(4, 8))
            loss = (out * out).mean()
            if breaks and step == 1:
                loss = torch.sqrt(loss * 0)
            loss.backward()
            optimizer.step()
    return recorder


@pytest.fixture
def opened(new_page: Callable[..., Watched], tmp_path: Path) -> Callable[..., Page]:
    def open_page(source: Any, **options: Any) -> Page:
        path = gradviz.export_html(source, tmp_path / "page.html")
        page = new_page(**options).page
        page.goto(path.as_uri())
        expect(page.get_by_test_id("box-count")).to_contain_text("shown")
        return page

    return open_page


def test_a_training_opens_on_one_step_and_the_keys_show_the_others(
    opened: Callable[..., Page], tmp_path: Path
):
    page = opened(training())
    step = page.get_by_test_id("step")
    expect(step).to_contain_text("step 3 of 3")
    expect(page.get_by_test_id("step-news")).to_contain_text("1 new")
    said = words(picture(page, tmp_path))
    assert said.count("hidden") == 2  # relu's, and that of the third call
    assert "Net#3" not in said
    page.keyboard.press("[")
    expect(step).to_contain_text("step 2 of 3")
    expect(page.get_by_test_id("step-news")).not_to_contain_text("new")
    assert words(picture(page, tmp_path)).count("hidden") == 1
    page.get_by_test_id("timeline-slider").press("Home")
    page.keyboard.press(".")
    expect(step).to_contain_text("step 1 of 3")


def test_two_steps_stand_side_by_side_on_request(
    opened: Callable[..., Page], tmp_path: Path
):
    page = opened(training())
    alone = words(picture(page, tmp_path)).count("body")
    page.get_by_test_id("step").click()
    expect(page.get_by_role("tab", name="Compare")).to_have_attribute(
        "aria-selected", "true"
    )
    expect(page.get_by_test_id("legend")).to_contain_text("new")
    assert words(picture(page, tmp_path)).count("body") == 2 * alone


def test_it_opens_on_the_step_of_the_first_finding_with_its_node_in_view(
    opened: Callable[..., Page],
):
    page = opened(training(breaks=True))
    expect(page.get_by_test_id("step")).to_contain_text("step 2 of 3")
    expect(page.get_by_test_id("findings-button")).to_contain_text("line ")


def test_parameters_stand_in_their_modules_by_their_names(
    opened: Callable[..., Page], tmp_path: Path
):
    said = words(picture(opened(training()), tmp_path))
    assert said.count("weight") == said.count("bias") == 2
    assert not {"AccumulateGrad", "body.weight", "parameters"} & set(said)
    assert {"hidden", "loss", "out"} <= set(said)


def test_legend_and_map_cover_no_part_of_the_graph(opened: Callable[..., Page]):
    page = opened(training())
    expect(page.get_by_test_id("legend")).to_contain_text("gradient ")
    expect(page.get_by_test_id("minimap")).to_be_hidden()  # all of it can be seen
    page = opened(chain(160))
    page.get_by_role("button", name="Expand all scopes").click()
    small_map = page.get_by_test_id("minimap")
    expect(small_map).to_be_visible()
    graph = page.get_by_test_id("graph").locator("canvas").first.bounding_box()
    legend = page.get_by_test_id("legend").bounding_box()
    beside = small_map.bounding_box()
    assert graph is not None
    assert legend is not None
    assert beside is not None
    assert legend["y"] >= graph["y"] + graph["height"] - 1
    assert beside["x"] >= graph["x"] + graph["width"] - 1


def test_from_far_only_modules_have_names(opened: Callable[..., Page]):
    """What is painted on the screen: `fillText` of the frames that follow."""
    page = opened(training())
    page.evaluate(
        """() => {
          const own = CanvasRenderingContext2D.prototype.fillText;
          CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
            (window.painted ??= []).push(text);
            return own.call(this, text, ...rest);
          };
        }"""
    )
    for _ in range(9):
        page.keyboard.press("-")
    page.evaluate("window.painted = []")
    page.keyboard.press("-")
    page.wait_for_function("window.painted.length > 0")
    said = set(page.evaluate("window.painted"))
    assert "Net" in said
    assert not {"linear", "hidden", "weight"} & said


def test_a_module_has_a_card_and_enter_folds_it(opened: Callable[..., Page]):
    page = opened(training())
    boxes = page.get_by_test_id("box-count").inner_text()
    page.get_by_role("button", name="Collapse all scopes").click()
    expect(page.get_by_test_id("box-count")).not_to_have_text(boxes)
    page.get_by_test_id("graph").focus()
    for _ in range(6):
        page.keyboard.press("ArrowUp")
    card = page.get_by_test_id("module-card")
    expect(card.get_by_role("heading", level=2)).to_have_text("Net")
    expect(card).to_contain_text("178 in 4")
    expect(card.get_by_role("button", name="Unfold")).to_be_visible()
    page.keyboard.press("Enter")
    expect(card.get_by_role("button", name="Fold", exact=True)).to_be_visible()


def test_the_first_line_is_the_verdict_and_a_healthy_run_looks_healthy(
    opened: Callable[..., Page],
):
    page = opened(training())
    verdict = page.get_by_test_id("verdict")
    expect(verdict).to_have_text("no findings in 3 backward passes")
    top = verdict.bounding_box()
    search = page.get_by_test_id("search").bounding_box()
    assert top is not None
    assert search is not None
    assert top["y"] < search["y"]
    expect(page.get_by_test_id("legend")).not_to_contain_text("NaN")


def test_on_a_phone_verdict_and_fix_come_before_the_graph(
    opened: Callable[..., Page],
):
    page = opened(training(breaks=True), width=420)
    parts = [
        page.get_by_test_id("findings-button"),
        page.get_by_test_id("findings"),
        page.get_by_test_id("graph"),
    ]
    tops = [(part.bounding_box() or {"y": -1})["y"] for part in parts]
    assert tops == sorted(tops)
    fix = page.get_by_text("Fix", exact=True).first.bounding_box()
    assert fix is not None
    assert fix["y"] < 450
