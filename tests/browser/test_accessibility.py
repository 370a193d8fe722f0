"""The exported page for those who use no mouse, no eyes, or a narrow window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import gradviz
from gradviz import ir
from tests.browser.axe import grave_in_light_and_dark, grave_violations
from tests.browser.conftest import PATIENCE_MS, Watched
from tests.browser.test_page import CONVOLUTION, heading, search
from tests.gradviz import samples

expect.set_options(timeout=PATIENCE_MS)

# Elements in a shadow root are found from its own active element.
FOCUSED = """() => {
  let element = document.activeElement;
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  if (element === null || element === document.body) return null;
  const around = element.closest(".search") ?? element;
  const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(around);
  const outlined = outlineStyle !== "none" && parseFloat(outlineWidth) >= 1;
  const words = element.labels?.[0] ?? element;
  return {
    text: element.getAttribute("aria-label") ?? words.textContent.trim(),
    visible: outlined || boxShadow !== "none",
  };
}"""

DIM_IN_THE_DARK = """() => {
  const words = document.body.appendChild(document.createElement("p"));
  words.textContent = "words";
  words.style = "color-scheme: light dark; color: light-dark(black, #222);"
    + "background: light-dark(white, black)";
}"""

# What reaches beyond the inspector's border, less what scrolls in a box of its own.
CUT_OFF = """(inspector) => {
  const border = inspector.getBoundingClientRect().left + inspector.clientWidth;
  const scrolls = ".source .scroll-box, .stride-grid, .unseen";
  return [...inspector.querySelectorAll("th, td, dt, dd, p, h2, h3, button, select")]
    .filter((element) => element.closest(scrolls) === null)
    .filter((element) => element.getBoundingClientRect().right > border + 0.5)
    .map((element) => `${element.tagName} ${element.textContent.trim()}`);
}"""
CLIPPED = """(inspector) => [...inspector.querySelectorAll("th, td, dd, .name")]
  .filter((element) => element.closest(".source .scroll-box, .stride-grid") === null)
  .filter((element) => getComputedStyle(element).display !== "inline")
  .filter((element) => element.scrollWidth > element.clientWidth + 1)
  .map((element) => element.textContent.trim())"""


@pytest.fixture
def show(new_page: Callable[..., Watched], tmp_path: Path) -> Callable[..., Page]:
    """Export a snapshot and open its page, once its graph is drawn."""

    def open_page(snapshot: ir.Snapshot, **options: Any) -> Page:
        path = gradviz.export_html(snapshot, tmp_path / "graph.html")
        page = new_page(**options).page
        page.goto(path.as_uri())
        expect(page.get_by_test_id("box-count")).to_be_visible()
        return page

    return open_page


def compared() -> ir.Snapshot:
    """Two recordings of two steps, with a finding and flow, side by side."""
    import gradtape as torch

    def recorded(scale: float) -> ir.Snapshot:
        torch.manual_seed(0)
        first, second = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1)
        weights = [*first.parameters(), *second.parameters()]
        optimizer = torch.optim.SGD(weights, lr=0.1)
        with gradviz.record(title="two steps") as recorder:
            for _ in range(2):
                optimizer.zero_grad()
                hidden = torch.relu(first(scale * torch.ones(2, 4))).detach()
                second(hidden).square().mean().backward()
                optimizer.step()
        return recorder.snapshot()

    together = gradviz.diff(recorded(1.0), recorded(2.0)).snapshot()
    return replace(together, findings=recorded(1.0).findings[:1])


def select(page: Page) -> None:
    search(page, CONVOLUTION)
    expect(heading(page)).to_contain_text(CONVOLUTION)


def show_table(page: Page) -> None:
    page.keyboard.press("t")
    expect(page.get_by_test_id("node-table")).to_be_visible()


def show_help(page: Page) -> None:
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()


def show_export(page: Page) -> None:
    page.get_by_role("button", name="Export").click()
    expect(page.get_by_role("menuitem").first).to_be_focused()


def stay(_page: Page) -> None:
    """Look at the page as it opens."""


@pytest.mark.parametrize("width", [1400, 400])
@pytest.mark.parametrize("act", [stay, select, show_table, show_help, show_export])
def test_axe_finds_nothing_serious(
    show: Callable[..., Page], act: Callable[[Page], None], width: int
):
    page = show(samples.cnn(), width=width)
    act(page)
    assert grave_in_light_and_dark(page) == []


@pytest.mark.parametrize("width", [1400, 400])
def test_axe_finds_nothing_serious_in_any_tab(show: Callable[..., Page], width: int):
    page = show(compared(), width=width)
    assert page.get_by_role("tab").count() >= 4
    for tab in page.get_by_role("tab").all():
        tab.click()
        expect(tab).to_have_attribute("aria-selected", "true")
        assert grave_in_light_and_dark(page) == [], tab.inner_text()


def test_axe_finds_what_is_wrong(show: Callable[..., Page]):
    page = show(samples.cnn())
    assert grave_violations(page) == []
    page.evaluate("document.body.append(document.createElement('button'))")
    assert [name.split(":")[0] for name in grave_violations(page)] == ["button-name"]


def test_axe_sees_what_is_wrong_in_the_dark_alone(show: Callable[..., Page]):
    page = show(samples.cnn())
    page.evaluate(DIM_IN_THE_DARK)
    found = [each for each in grave_in_light_and_dark(page) if "contrast" in each]
    assert [each.split(":")[:2] for each in found] == [["dark", " color-contrast"]]


def test_the_tab_key_reaches_every_part_in_order_and_shows_where_it_is(
    show: Callable[..., Page],
):
    page = show(samples.cnn())
    select(page)
    page.keyboard.press("Shift+Tab")  # out of the search box, to the page's beginning
    stops: list[dict[str, Any]] = []
    while len(stops) < 200:
        page.keyboard.press("Tab")
        stop = page.evaluate(FOCUSED)
        if stop is None:
            break
        stops.append(stop)
    texts = [stop["text"] for stop in stops]
    parts = ["Search nodes", "Fit the graph", "Help", "Autograd graph", "Source text"]
    order = [texts.index(part) for part in parts]
    assert order == sorted(order)
    assert [stop["text"] for stop in stops if not stop["visible"]] == []
    assert "" not in texts


def test_a_graph_can_be_read_without_a_mouse(
    show: Callable[..., Page],
):
    page = show(samples.cnn())
    spoken = page.get_by_test_id("live")
    page.get_by_role("button", name="Expand all scopes").press("Enter")
    page.get_by_test_id("graph").focus()
    page.keyboard.press("ArrowUp")
    expect(spoken).to_contain_text("Selected NllLossBackward0")
    page.keyboard.press("ArrowUp")
    expect(spoken).to_contain_text("Selected AddmmBackward0, linear, in net.fc")
    expect(spoken).to_contain_text("output (1, 10)")
    page.keyboard.press("Enter")  # closes the module around the node
    expect(page.get_by_test_id("closed-scopes")).to_contain_text("1 module closed")
    expect(page.get_by_test_id("box-count")).to_have_text("11 boxes shown")
    expect(spoken).to_contain_text("in the closed module net.fc, Enter opens it")
    page.keyboard.press("ArrowDown")
    expect(spoken).to_contain_text("Selected NllLossBackward0")
    page.keyboard.press("ArrowUp")  # back onto the closed module
    expect(spoken).to_contain_text("Selected module fc, Linear, ")
    expect(spoken).to_contain_text("Enter unfolds it")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("box-count")).to_have_text("13 boxes shown")


@pytest.mark.parametrize(("width", "grow"), [(1400, "ArrowLeft"), (400, "ArrowUp")])
def test_the_splitter_follows_the_pointer_and_the_keys(
    show: Callable[..., Page], width: int, grow: str
):
    page = show(samples.cnn(), width=width)
    bar = page.get_by_role("complementary").get_by_role("separator")

    def middle() -> tuple[float, float]:
        box = bar.bounding_box()
        assert box is not None
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    x, y = middle()
    page.mouse.move(x, y)
    page.mouse.down()
    target = (x - 100, y) if grow == "ArrowLeft" else (x, y - 60)
    page.mouse.move(*target)
    page.mouse.up()
    assert middle() == pytest.approx(target, abs=4)
    share = int(bar.get_attribute("aria-valuenow") or 0)
    bar.press(grow)
    expect(bar).to_have_attribute("aria-valuenow", str(share + 3))


# The inspector takes 42 % of a wide window, and all of a narrow one.
@pytest.mark.parametrize("width", [360, 762, 1500])
@pytest.mark.parametrize("sample", ["cnn", "hostile"])
def test_no_table_or_fact_is_cut_off(
    show: Callable[..., Page], sample: str, width: int
):
    snapshot = samples.SAMPLES[sample]()
    page = show(snapshot, width=width)
    if snapshot.findings:
        page.get_by_role("tab", name="Inspector").click()
    inspector = page.get_by_test_id("inspector")
    names = [node.name for node in snapshot.nodes if node.outputs]
    page.keyboard.press("t")
    for name in names:
        assert inspector.evaluate(CUT_OFF) == []
        assert inspector.evaluate(CLIPPED) == []
        page.get_by_test_id("node-table").get_by_role("button", name=name).last.click()
        expect(heading(page)).to_contain_text(name)
    assert inspector.evaluate(CUT_OFF) == []
    assert inspector.evaluate(CLIPPED) == []


def test_names_of_files_cannot_turn_around(
    show: Callable[..., Page],
):
    snapshot = samples.hostile()
    parts = (snapshot.parts[0], replace(snapshot.parts[0], nodes=(1,)))
    page = show(replace(snapshot, parts=parts))
    page.keyboard.press("t")
    page.get_by_role("tab", name="Compare").click()
    compared = page.get_by_test_id("compare").inner_text()
    page.get_by_role("tab", name="Findings").click()
    parts = ("node-table", "findings-pane", "status", "breadcrumb")
    shown = [page.get_by_test_id(part).inner_text() for part in parts]
    page.get_by_role("tab", name="Inspector").click()
    shown += [page.get_by_test_id("inspector").inner_text(), compared]
    assert "\\u202eevil\\u202c" in shown[0]
    assert [text for text in shown if "\u202e" in text] == []
