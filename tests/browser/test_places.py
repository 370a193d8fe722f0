"""Where the view looks: the map, undo, and links that show the same again."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import gradviz
from gradviz import ir
from tests.browser.conftest import PATIENCE_MS, Watched

expect.set_options(timeout=PATIENCE_MS)

STEPS = 40


def chain(steps: int = STEPS) -> ir.Snapshot:
    """Modules of two operations in a row: far too long for one screen."""
    scopes = tuple(ir.Scope(f"net.{n}", str(n), "Block") for n in range(steps))
    nodes = tuple(
        ir.OpNode(f"Op{n}Backward0", "op", f"op{n}", scope=n // 2)
        for n in range(2 * steps)
    )
    edges = tuple(ir.Edge(n, 0, n + 1, 0) for n in range(2 * steps - 1))
    roots = (2 * steps - 1,)
    return ir.Snapshot(
        "test", "chain", roots=roots, nodes=nodes, edges=edges, scopes=scopes
    )


@pytest.fixture
def opened(new_page: Callable[..., Watched], tmp_path: Path) -> Watched:
    path = gradviz.export_html(chain(), tmp_path / "chain.html")
    watched = new_page()
    watched.page.goto(path.as_uri())
    expect(watched.page.get_by_test_id("box-count")).to_have_text("40 boxes shown")
    return watched


def place(page: Page) -> float:
    """How far down the address says that the view looks."""
    found = re.search(r"look=[^&]*,(-?\d+)", page.url)
    return float(found[1]) if found else 0.0


def test_a_press_on_the_map_goes_there_and_undo_comes_back(
    new_page: Callable[..., Watched], tmp_path: Path
):
    opened = new_page()
    page = opened.page
    page.goto(gradviz.export_html(chain(160), tmp_path / "long.html").as_uri())
    page.get_by_role("button", name="Expand all scopes").click()
    expect(page.get_by_test_id("box-count")).to_have_text("320 boxes shown")
    expect(page).to_have_url(re.compile("look="))
    top = place(page)
    small_map = page.get_by_test_id("minimap")
    size = small_map.bounding_box()
    assert size is not None
    small_map.click(position={"x": size["width"] / 2, "y": size["height"] - 8})
    expect(page).to_have_url(re.compile(r"look=[^&]*,\d{4}"))
    assert place(page) > top + 800
    page.keyboard.press("Control+z")
    expect(page).to_have_url(re.compile(rf"look=[^&]*,{top:.0f}(&|$)"))
    page.keyboard.press("m")
    expect(small_map).to_be_hidden()
    assert opened.errors == []


def test_undo_and_redo_walk_through_modules_and_selections(opened: Watched):
    page = opened.page
    boxes = page.get_by_test_id("box-count")
    heading = page.get_by_test_id("inspector").get_by_role("heading", level=2)
    page.get_by_role("button", name="Expand all scopes").click()
    expect(boxes).to_have_text("80 boxes shown")
    page.get_by_test_id("search").fill("op70")
    page.keyboard.press("Enter")
    expect(heading).to_contain_text("Op70Backward0")
    page.get_by_test_id("graph").focus()
    page.keyboard.press("Control+z")
    expect(heading).to_have_text("chain")
    page.keyboard.press("Control+z")
    expect(boxes).to_have_text("40 boxes shown")
    page.keyboard.press("Control+Shift+z")
    expect(boxes).to_have_text("80 boxes shown")
    page.keyboard.press("Control+Shift+z")
    expect(heading).to_contain_text("Op70Backward0")
    page.keyboard.press("Control+Shift+z")
    expect(page.get_by_test_id("notice")).to_have_text(
        "There is nothing to redo in this view."
    )
    assert opened.errors == []


def test_a_copied_link_shows_the_same_again(
    opened: Watched, new_page: Callable[..., Watched]
):
    page = opened.page
    page.get_by_test_id("search").fill("op3")
    page.keyboard.press("Enter")
    heading = page.get_by_test_id("inspector").get_by_role("heading", level=2)
    expect(heading).to_contain_text("Op3Backward0")
    page.get_by_test_id("color-by").select_option("scope")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Export").click()
    page.get_by_role("menuitem", name="Copy link").click()
    said = "The link to this view was copied."
    expect(page.get_by_test_id("notice")).to_have_text(said)
    link = page.evaluate("navigator.clipboard.readText()")

    other = new_page()
    other.page.goto(link)
    again = other.page.get_by_test_id("inspector").get_by_role("heading", level=2)
    expect(again).to_contain_text("Op3Backward0")
    expect(other.page.get_by_test_id("search")).to_have_value("op3")
    expect(other.page.get_by_test_id("search-count")).to_have_text("11 found")
    expect(other.page.get_by_test_id("color-by")).to_have_value("scope")
    expect(other.page.get_by_test_id("box-count")).to_have_text("41 boxes shown")
    assert other.errors == opened.errors == []


def test_a_damaged_link_shows_the_graph(
    new_page: Callable[..., Watched], tmp_path: Path
):
    path = gradviz.export_html(chain(), tmp_path / "chain.html")
    watched = new_page()
    watched.page.goto(f"{path.as_uri()}#at=n999&closed=x&look=1e99,a&find=%E0%A4%A")
    expect(watched.page.get_by_test_id("box-count")).to_have_text("40 boxes shown")
    assert watched.errors == []
