"""What is broken, foreign or too narrow: a sentence in the view, never a blank box."""

from __future__ import annotations

import re
import zlib
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import expect

import gradviz
from gradviz import ir
from gradviz.ir import columns as ir_columns
from gradviz.render.html import to_html
from tests.browser.conftest import PATIENCE_MS, Watched
from tests.browser.test_graph import chain
from tests.gradviz import samples

expect.set_options(timeout=PATIENCE_MS)


def page_of(columns: bytes) -> str:
    """An exported page that holds other data."""
    data = b64encode(zlib.compress(columns)).decode("ascii")
    page = to_html(samples.mlp())
    return re.sub(r'(id="gradviz-data">)[^<]*', rf"\g<1>{data}", page, count=1)


def newer() -> bytes:
    return ir_columns.encode(replace(samples.mlp(), schema=(9, 0)))


def cut_short() -> bytes:
    return ir_columns.encode(samples.mlp())[:-64]


def circular() -> bytes:
    nodes = tuple(ir.OpNode(f"Op{n}Backward0", "op") for n in range(3))
    edges = tuple(ir.Edge(n, 0, (n + 1) % 3, 0) for n in range(3))
    return ir_columns.encode(ir.Snapshot("test", "a circle", nodes=nodes, edges=edges))


def dangling() -> bytes:
    nodes = (ir.OpNode("AddBackward0", "op"),)
    edges = (ir.Edge(0, 0, 7, 0),)
    return ir_columns.encode(ir.Snapshot("test", nodes=nodes, edges=edges))


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (newer, "newer"),
        (cut_short, "cut short|incomplete|damaged"),
        (circular, "cycle|circle"),
        (dangling, "damaged|node"),
        (lambda: b"not columns at all", "not a gradviz snapshot"),
    ],
    ids=["newer", "cut-short", "circular", "dangling", "foreign"],
)
def test_a_page_with_broken_data_says_so(
    new_page: Callable[..., Watched],
    tmp_path: Path,
    columns: Callable[[], bytes],
    words: str,
):
    path = tmp_path / "broken.html"
    path.write_text(page_of(columns()), encoding="utf-8")
    watched = new_page()
    watched.page.goto(path.as_uri())
    problem = watched.page.get_by_role("alert").filter(has_text=re.compile(r"\w"))
    expect(problem.first).to_have_text(re.compile(words, re.IGNORECASE))
    assert problem.first.inner_text().endswith(".")
    expect(watched.page.get_by_text("Reading the graph")).to_have_count(0)
    if columns is not circular:  # its tables can still be looked at
        expect(watched.page.get_by_role("button")).to_have_count(0)
    assert watched.errors == []


# The layout of a large graph comes from a worker; this one lost a position.
LOST = """
    const own = Object.getOwnPropertyDescriptor(Worker.prototype, "onmessage");
    Object.defineProperty(Worker.prototype, "onmessage", {
        set(receive) {
            own.set.call(this, (event) => {
                event.data.placement.x[7] = NaN;
                receive(event);
            });
        },
    });
"""


def test_a_position_that_is_no_number_is_told_and_the_rest_stays_usable(
    new_page: Callable[..., Watched], tmp_path: Path
):
    path = gradviz.export_html(chain(3_000), tmp_path / "lost.html")
    watched = new_page()
    page = watched.page
    page.add_init_script(LOST)
    page.goto(path.as_uri())
    page.get_by_role("button", name="Expand all scopes").click()
    sentence = page.get_by_text("The layout found no place for 1 box.")
    expect(sentence).to_be_visible()
    page.get_by_role("button", name="Collapse all scopes").click()
    expect(page.get_by_test_id("box-count")).to_have_text("1 box shown")
    expect(sentence).to_have_count(0)
    assert watched.errors == []


SCROLLED = """() => {
    const view = document.querySelector("#gradviz > div").shadowRoot;
    const outer = view.querySelector(".gv");
    outer.scrollTop = 500;
    return outer.scrollTop;
}"""


@pytest.mark.parametrize("sample", ["cnn", "hostile", "overwritten", "raised"])
def test_forty_characters_of_width_are_enough(
    new_page: Callable[..., Watched], tmp_path: Path, sample: str
):
    path = gradviz.export_html(samples.SAMPLES[sample](), tmp_path / "narrow.html")
    watched = new_page(width=300, height=700)
    page = watched.page
    page.goto(path.as_uri())
    expect(page.get_by_test_id("status")).to_be_visible()
    for tab in page.get_by_role("tab").all():
        tab.click()
        expect(tab).to_have_attribute("aria-selected", "true")
        wide = page.evaluate(
            """() => {
                const view = document.querySelector("#gradviz > div").shadowRoot;
                const parts = ".gv, .toolbar, .pane, .status";
                const inside = [...view.querySelectorAll(parts)];
                return inside.filter((e) => e.scrollWidth > e.clientWidth + 1)
                    .map((e) => `${e.className} ${e.scrollWidth} > ${e.clientWidth}`);
            }"""
        )
        assert wide == [], tab.inner_text()
    if page.get_by_role("tab").count():
        page.get_by_role("tab", name="Inspector").click()
        page.keyboard.press("/")
        page.keyboard.type("Backward")
        page.keyboard.press("Enter")
        assert page.evaluate(SCROLLED) == 0  # nothing can scroll the view itself away
        page.get_by_test_id("search").fill("")
        page.get_by_role("button", name="Table of the nodes").click()
        table = page.locator(".node-table")
        table_width, room = table.evaluate("(e) => [e.scrollWidth, e.clientWidth]")
        assert table_width <= room + 1
    page.screenshot(path=tmp_path / f"{sample}.png")
    assert watched.errors == []
