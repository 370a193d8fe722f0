"""The graph on the page: folding, colours, directions, links, and bad input."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import gradtape as gt
import gradviz
from gradviz import ir
from tests.browser.conftest import PATIENCE_MS, Watched
from tests.browser.test_page import open_offline

expect.set_options(timeout=PATIENCE_MS)

STEPS = 30


class Net(gt.nn.Module):
    """A recurrent cell called once per row."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = gt.nn.RNNCell(4, 4)

    def forward(self, xs: Any) -> Any:
        h = gt.zeros(1, 4)
        for x in xs:
            h = self.cell(x, h) * 0.5
        return h


def unrolled() -> ir.Snapshot:
    gt.manual_seed(0)
    net, xs = Net(), gt.randn(STEPS, 1, 4)
    with gradviz.record(title="unrolled") as recorder:
        net(xs).sum().backward()
    return recorder.snapshot()


def written() -> ir.Snapshot:
    """An in-place write into a slice, a split, a detached branch."""
    w = gt.ones(4, 3, requires_grad=True)
    with gradviz.record(title="written") as recorder:
        x = w * 2
        x[1:3] = x[1:3].exp()
        a, b = x.split(2)
        ((a * b).sum() + (x.detach() * w).sum()).backward()
    return recorder.snapshot()


def boxes(page: Page) -> int:
    text = page.get_by_test_id("box-count").inner_text()
    return int(text.split()[0].replace(",", ""))


def expect_boxes(page: Page, count: int) -> None:
    noun = "box" if count == 1 else "boxes"
    expect(page.get_by_test_id("box-count")).to_have_text(f"{count:,} {noun} shown")


def test_a_loop_is_one_box_that_opens_turn_by_turn(
    new_page: Callable[..., Watched], tmp_path: Path
) -> None:
    snapshot = unrolled()
    watched = open_offline(snapshot, new_page, tmp_path)
    page = watched.page
    expect_boxes(page, STEPS + 2)  # the turns, their parameters, and the sum
    assert len(snapshot.nodes) > 6 * STEPS
    page.get_by_role("button", name="Expand all scopes").click()
    expect_boxes(page, len(snapshot.nodes))
    page.get_by_role("button", name="Collapse all scopes").click()
    expect_boxes(page, 2)
    page.get_by_test_id("graph").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")  # now the net is selected
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("closed-scopes")).to_contain_text("62 modules")
    page.keyboard.press("Enter")
    expect_boxes(page, 2)
    assert watched.errors == []


def test_a_click_that_opens_a_box_closes_it_again_at_the_same_place(
    new_page: Callable[..., Watched], tmp_path: Path
) -> None:
    watched = open_offline(unrolled(), new_page, tmp_path)
    page = watched.page
    page.get_by_role("button", name="Collapse all scopes").click()
    expect_boxes(page, 2)
    closed = page.get_by_test_id("closed-scopes")
    before = closed.inner_text()
    at = find_triangle(page)
    page.mouse.click(*at)
    expect(closed).not_to_have_text(before)
    # A second click at once would be a double click.
    page.mouse.move(5, 5)
    page.wait_for_function(
        "(begin) => performance.now() - begin > 400",
        arg=page.evaluate("() => performance.now()"),
    )
    page.mouse.click(*at)
    expect(closed).to_have_text(before)
    assert watched.errors == []


def find_triangle(page: Page) -> tuple[float, float]:
    """Feel for the topmost box by the pointer's shape; return where its triangle is."""
    area = page.get_by_test_id("graph").bounding_box()
    assert area is not None
    left, top = area["x"], area["y"]
    middle = left + area["width"] / 2 - 25  # beside the edge that leaves the box

    def is_box(x: float, y: float) -> bool:
        page.mouse.move(x, y)
        cursor = "(host) => host.style.cursor"
        return page.get_by_test_id("graph").evaluate(cursor) == "pointer"

    rows = [
        top + y for y in range(2, int(area["height"]), 3) if is_box(middle, top + y)
    ]
    first = rows[0]
    last = next(y for y in rows if y + 3 not in rows)
    height = last - first
    y = first + height / 2
    columns = (left + x for x in range(0, int(area["width"]), 2))
    edge = next(x for x in columns if is_box(x, y))
    return edge + 13 * height / 44, y


COLOURS = {
    "gradient": "norm of the gradient",
    "value": "largest value, without sign",
    "storage": "nodes that share memory",
    "time": "time of the backward function",
    "memory": "bytes kept for backward",
    "version": "times its memory was written in place",
    "dtype": "float32",
    "device": "cpu",
}


def test_every_colour_has_a_legend(
    new_page: Callable[..., Watched], tmp_path: Path
) -> None:
    watched = open_offline(written(), new_page, tmp_path)
    legend = watched.page.get_by_test_id("legend")
    for value, text in COLOURS.items():
        watched.page.get_by_test_id("color-by").select_option(value)
        expect(legend).to_contain_text(text)
    assert watched.errors == []


def test_both_directions_stand_side_by_side(
    new_page: Callable[..., Watched], tmp_path: Path
) -> None:
    watched = open_offline(written(), new_page, tmp_path)
    page = watched.page
    forward = boxes(page)
    page.get_by_test_id("graph").focus()
    page.keyboard.press("d")
    expect(page.get_by_test_id("flow")).to_have_value("backward")
    expect_boxes(page, forward)
    page.keyboard.press("d")
    expect(page.get_by_test_id("flow")).to_have_value("both")
    expect_boxes(page, 2 * forward)
    page.get_by_test_id("flow").select_option("forward")
    expect_boxes(page, forward)
    assert watched.errors == []


def test_links_count_the_nodes_that_share_memory(
    new_page: Callable[..., Watched], tmp_path: Path
) -> None:
    watched = open_offline(written(), new_page, tmp_path)
    page = watched.page
    expect(page.get_by_test_id("links-legend")).to_have_count(0)
    page.get_by_test_id("links").click()
    expect(page.get_by_test_id("links-legend")).to_have_text("same memory (5 nodes)")
    page.get_by_test_id("graph").focus()
    page.keyboard.press("l")
    expect(page.get_by_test_id("links-legend")).to_have_count(0)
    assert watched.errors == []


def chain(count: int, *, closed: bool = False) -> ir.Snapshot:
    """Ops one after the other; closed: the last one feeds the first."""
    nodes = tuple(
        ir.OpNode("MulBackward0", "op", call="mul", sequence=row)
        for row in range(count)
    )
    ends = [(row, row + 1) for row in range(count - 1)]
    ends += [(count - 1, 0)] if closed else []
    edges = tuple(ir.Edge(source, 0, target, 0) for source, target in ends)
    return ir.Snapshot("test", "chain", nodes, edges, roots=(count - 1,))


def test_a_cycle_is_named_in_a_sentence(
    new_page: Callable[..., Watched], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gradviz.snapshots.validate", lambda snapshot: None)
    path = gradviz.export_html(chain(3, closed=True), tmp_path / "cycle.html")
    watched = new_page()
    watched.page.goto(path.as_uri())
    sentence = "The snapshot is damaged: its data edges run in a cycle of 3"
    expect(watched.page.get_by_text(sentence)).to_be_visible()
    assert watched.errors == []


def test_two_hundred_thousand_nodes_open_as_a_few_boxes(
    new_page: Callable[..., Watched], tmp_path: Path
) -> None:
    watched = open_offline(chain(200_000), new_page, tmp_path)
    page = watched.page
    expect(page.get_by_test_id("node-count")).to_have_text("200,000 nodes")
    assert 2 <= boxes(page) <= 40
    page.get_by_role("button", name="Expand all scopes").click()
    pending = re.compile(r"^Laying out 2\d\d,\d\d\d boxes…$")
    expect(page.get_by_text(pending)).to_be_visible()
    expect_boxes(page, 200_000)
    assert watched.errors == []


def test_a_tab_that_was_frozen_draws_again(
    new_page: Callable[..., Watched], tmp_path: Path
) -> None:
    watched = open_offline(unrolled(), new_page, tmp_path)
    page = watched.page
    session = page.context.new_cdp_session(page)
    session.send("Page.setWebLifecycleState", {"state": "frozen"})
    session.send("Page.setWebLifecycleState", {"state": "active"})
    page.get_by_role("button", name="Expand all scopes").click()
    expect_boxes(page, len(unrolled().nodes))
    assert watched.errors == []


def test_forty_characters_are_wide_enough(
    new_page: Callable[..., Watched], tmp_path: Path
) -> None:
    path = gradviz.export_html(unrolled(), tmp_path / "narrow.html")
    watched = new_page(width=320, height=700)
    page = watched.page
    page.goto(path.as_uri())
    expect(page.get_by_test_id("box-count")).to_be_visible()
    area = page.get_by_test_id("graph").bounding_box()
    assert area is not None
    assert area["height"] >= 120
    wide = page.evaluate("() => document.documentElement.scrollWidth")
    assert wide <= 320
    for name in ("flow", "links", "color-by", "view-mode"):
        box = page.get_by_test_id(name).bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= 320
    assert watched.errors == []
