"""Small pictures of tensors: in the inspector, under the pointer, in the boxes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

import gradtape as torch
import gradviz
from tests.browser.conftest import PATIENCE_MS, Watched

expect.set_options(timeout=PATIENCE_MS)

pytestmark = pytest.mark.slow


class Net(torch.nn.Module):
    """A convolution of images, attention over its channels, and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 16, 5, padding=2)
        self.head = torch.nn.Linear(16, 2)

    def forward(self, x: Any) -> Any:
        rows = self.conv(x).flatten(2)
        scores = rows @ rows.transpose(-1, -2)
        above = torch.ones(16, 16).triu(1) > 0
        weights = scores.masked_fill(above, float("-inf")).softmax(-1)
        return self.head((weights @ rows).mean(-1))


@pytest.fixture
def page(new_page: Callable[..., Watched], tmp_path: Path) -> Page:
    torch.manual_seed(0)
    net = Net()
    with gradviz.record(title="thumbnails") as recorder:
        net(torch.rand(4, 3, 12, 12)).sum().backward()
    path = gradviz.export_html(recorder, tmp_path / "page.html")
    # The camera is at once where it goes: the pointer comes to what stays under it.
    page = new_page(width=1400, reduced_motion="reduce").page
    page.goto(path.as_uri())
    expect(page.get_by_test_id("box-count")).to_contain_text("shown")
    return page


def find(page: Page, text: str) -> None:
    box = page.get_by_role("searchbox").first
    box.fill(text)
    box.press("Enter")
    expect(page.get_by_test_id("summary")).to_be_visible()


def colours(canvas: Locator) -> list[str]:
    """Return the colours of the diagonal of a canvas of cells, and of what is above."""
    return canvas.evaluate(
        """canvas => {
          const context = canvas.getContext("2d");
          return [[0, 0], [9, 9], [9, 0]].map(([x, y]) =>
            [...context.getImageData(x, y, 1, 1).data].join());
        }"""
    )


def test_the_inspector_shows_an_attention_map(page: Page):
    find(page, "masked_fill")
    scores = page.locator(".thumbnails [data-kind=matrices]").first
    expect(scores).to_contain_text("480 Inf; 3 of 4 matrices; a pixel is an element")
    picture = scores.get_by_role("img")
    expect(picture).to_have_accessible_name(
        "output 0 (4, 16, 16): "
        + scores.locator("figcaption").inner_text().partition(") ")[2]
    )
    first, ninth, above = colours(picture)
    assert above == "27,33,43,255"  # the colour of Inf in the light theme
    assert above not in (first, ninth)


def test_the_inspector_shows_filters_and_images(page: Page):
    find(page, "Convolution")
    shown = page.locator(".thumbnails")
    expect(shown.locator("[data-kind=filters]")).to_contain_text(
        "16 of 16 filters, channel 0 of 3"
    )
    expect(shown.locator("[data-kind=images]")).to_contain_text(
        "4 of 4 images, mean of 3 channels"
    )
    canvas = shown.locator("[data-kind=filters] canvas")
    size = canvas.evaluate("canvas => [canvas.width, canvas.height]")
    assert size == [4 * 6 - 1, 4 * 6 - 1]  # four tiles of five and cells between them
    expect(page.get_by_test_id("gradient").get_by_test_id("thumbnail")).to_be_visible()


def test_what_has_no_picture_shows_its_histogram(page: Page):
    find(page, "conv.bias")
    shown = page.locator(".thumbnails")
    expect(shown.get_by_test_id("histogram")).to_be_visible()
    expect(shown.get_by_test_id("thumbnail")).to_have_count(0)


def test_boxes_show_pictures_from_near_and_the_pointer_brings_them(page: Page):
    graph = page.get_by_test_id("graph")
    canvas = graph.locator("canvas").first
    assert canvas.evaluate(LOWEST) == 0
    graph.focus()
    for _ in range(6):
        graph.press("+")
    find(page, "softmax")  # brings it into view, as near as it is
    page.wait_for_function(
        f"canvas => ({LOWEST})(canvas) > 50", arg=canvas.element_handle()
    )
    box = graph.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.get_by_test_id("hovered").get_by_role("img")).to_be_visible()


LOWEST = """canvas => {
  const { width, height } = canvas;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  let dark = 0;
  for (let at = 0; at < data.length; at += 4) {
    dark += data[at] === 0 && data[at + 1] === 32 && data[at + 2] === 77;
  }
  return dark;
}"""
