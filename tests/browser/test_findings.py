"""Findings on the exported page: what a user reads, and what keys and clicks do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import gradviz
from gradviz import ir
from tests.browser.axe import grave_in_light_and_dark
from tests.browser.conftest import PATIENCE_MS, Watched
from tests.browser.test_accessibility import CLIPPED, CUT_OFF
from tests.browser.test_page import facts, heading
from tests.gradviz import samples

expect.set_options(timeout=PATIENCE_MS)

WIDTHS = [1280, 400]
# What the canvas was told to write, frame by frame: the boxes that can be seen.
WATCH_WORDS = """() => {
  window.words = new Set();
  const write = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
    window.words.add(text);
    return write.call(this, text, ...rest);
  };
}"""


@pytest.fixture
def show(new_page: Callable[..., Watched], tmp_path: Path) -> Callable[..., Watched]:
    """Export a snapshot and open its page without a network, findings on show."""

    def open_page(snapshot: ir.Snapshot, **options: Any) -> Watched:
        path = gradviz.export_html(snapshot, tmp_path / "findings.html")
        watched = new_page(**options)
        watched.page.context.set_offline(True)
        watched.page.add_init_script(f"({WATCH_WORDS})()")
        watched.page.goto(path.as_uri())
        expect(watched.page.get_by_test_id("findings")).to_be_visible()
        return watched

    return open_page


def finding(page: Page, row: int) -> str:
    item = page.get_by_test_id(f"finding-{row}")
    return item.get_by_role("heading", level=3).inner_text()


def open_row(page: Page) -> str | None:
    return page.locator(".finding[aria-current]").get_attribute("data-testid")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_most_likely_cause_is_read_at_once(
    show: Callable[..., Watched], tmp_path: Path, width: int, scheme: str
):
    snapshot = samples.overwritten()
    watched = show(snapshot, width=width, color_scheme=scheme)
    page = watched.page
    first = page.get_by_test_id("finding-0")
    words = finding(page, 0).split()
    assert words == ["error", "GV101", "inplace-saved-output", "Cell", "In[4]:6"]
    message = snapshot.findings[0].message.replace("`", "")
    expect(first.locator(".message")).to_have_text(message)
    expect(first.locator("mark")).to_have_text("y += 1")
    fix = "Fix Write y = y + 1, which makes a new tensor."
    expect(first.get_by_test_id("fix")).to_have_text(fix)
    related = first.get_by_test_id("related").get_by_role("listitem")
    assert [" ".join(line.split()) for line in related.all_inner_texts()] == [
        "1 inplace saved output Cell In[4]:6 y += 1",
        "2 saved here Cell In[4]:5 y = x.exp()",
        "3 shows here Cell In[4]:15 loss.backward()",
    ]
    button = page.get_by_test_id("findings-button")
    expect(button).to_have_text("1 error, 1 warning, 1 info, line 6")
    expect(button).to_have_accessible_name(
        "3 findings: 1 error, 1 warning, 1 info, line 6"
    )
    page.screenshot(path=tmp_path / "findings.png")
    assert watched.errors == []


def test_the_memory_of_a_finding_shows_versions_and_cells(
    show: Callable[..., Watched],
):
    page = show(samples.overwritten()).page
    memory = page.get_by_test_id("finding-memory")
    versions = memory.get_by_role("list", name="Versions of this storage")
    expect(versions).to_contain_text("v1")
    assert facts(page, "layout-facts")["Storage"] == "#1"
    expect(memory.get_by_test_id("strip").get_by_role("button")).to_have_count(3)


def test_keys_walk_the_findings_and_say_so(show: Callable[..., Watched]):
    watched = show(samples.overwritten())
    page = watched.page
    spoken = page.get_by_test_id("live")
    page.keyboard.press("n")
    expect(spoken).to_contain_text("Finding 2 of 3, warning GV201 detached-branch")
    expect(spoken).to_contain_text("Cell In[4]:11, 1 node marked")
    expect(page.get_by_test_id("breadcrumb")).to_contain_text("detach")
    page.keyboard.press("n")
    page.keyboard.press("n")
    expect(spoken).to_contain_text("Finding 1 of 3")
    page.keyboard.press("N")
    expect(spoken).to_contain_text("Finding 3 of 3, info GV204")
    assert open_row(page) == "finding-2"
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Next finding, previous finding")
    assert watched.errors == []


def test_a_click_opens_the_scopes_around_the_nodes(show: Callable[..., Watched]):
    page = show(samples.overwritten()).page
    page.get_by_role("button", name="Collapse all scopes").click()
    expect(page.get_by_test_id("closed-scopes")).to_contain_text("1 module closed")
    page.get_by_role("button", name="Show in graph").click()
    expect(page.get_by_test_id("box-count")).to_have_text("8 boxes shown")
    page.get_by_role("button", name="ExpBackward0").click()
    expect(heading(page)).to_contain_text("ExpBackward0")
    here = page.get_by_test_id("node-findings")
    expect(here).to_contain_text("GV101 inplace-saved-output")
    here.get_by_role("button").click()
    expect(page.get_by_test_id("finding-0")).to_be_visible()


def deep() -> ir.Snapshot:
    """A graph far higher than any screen, with a finding at its end."""
    found = ir.Finding("GV101", "slug", "error", "It is far away.", nodes=(400,))
    chain = samples.chain(400)
    nodes = list(chain.nodes)
    nodes[400] = ir.OpNode("LastBackward0", "op", "the_culprit", sequence=400)
    nodes[1] = ir.OpNode("FirstBackward0", "op", "the_first", sequence=0)
    return ir.Snapshot(
        "p",
        nodes=tuple(nodes),
        edges=chain.edges,
        tensors=chain.tensors,
        storages=chain.storages,
        findings=(found, ir.Finding("GV2", "first", "error", "Here.", nodes=(1,))),
        roots=(400,),
    )


def test_the_graph_is_seen_where_the_finding_points(show: Callable[..., Watched]):
    page = show(deep(), bypass_csp=True).page  # else nobody may wait for words
    page.wait_for_function("words.has('the_culprit')")
    page.evaluate("words.clear()")
    page.keyboard.press("n")
    page.wait_for_function("words.has('the_first')")
    assert "GV2" in json.loads(page.evaluate("JSON.stringify([...words])"))


def test_cut_edges_are_labelled_on_the_canvas(show: Callable[..., Watched]):
    page = show(samples.overwritten(), bypass_csp=True).page
    page.wait_for_function("words.has('no gradient') && words.has('modified')")
    page.wait_for_function("[...words].some((word) => word.startsWith('detach'))")


@pytest.mark.parametrize("width", WIDTHS)
def test_a_program_that_raised_before_any_graph_still_tells_why(
    show: Callable[..., Watched], width: int
):
    watched = show(samples.raised(), width=width)
    page = watched.page
    expect(page.get_by_test_id("finding-0").locator("mark")).to_have_text(
        "torch.ones(3)"
    )
    expect(page.get_by_test_id("graph")).to_have_count(0)
    expect(page.get_by_test_id("search")).to_have_count(0)
    pane = page.get_by_test_id("findings-pane").bounding_box()
    assert pane is not None
    assert pane["width"] > 0.95 * width
    assert watched.errors == []


@pytest.mark.parametrize("width", [1400, 360])
@pytest.mark.parametrize("sample", ["overwritten", "raised", "hostile"])
def test_nothing_is_cut_off(show: Callable[..., Watched], sample: str, width: int):
    watched = show(samples.SAMPLES[sample](), width=width)
    pane = watched.page.get_by_test_id("findings-pane")
    for _ in samples.SAMPLES[sample]().findings:
        assert pane.evaluate(CUT_OFF) == []
        assert pane.evaluate(CLIPPED) == []
        watched.page.keyboard.press("n")
    assert watched.errors == []


@pytest.mark.parametrize("sample", ["overwritten", "raised"])
def test_axe_finds_nothing_serious(show: Callable[..., Watched], sample: str):
    page = show(samples.SAMPLES[sample]()).page
    for _ in samples.SAMPLES[sample]().findings:
        assert grave_in_light_and_dark(page) == []
        page.keyboard.press("n")


def test_a_finding_is_copied_as_markdown(show: Callable[..., Watched]):
    snapshot = samples.overwritten()
    watched = show(snapshot)
    page = watched.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    first = page.get_by_test_id("finding-0")
    first.get_by_role("button", name="Copy as Markdown").click()
    expect(first.get_by_role("button", name="Copied")).to_be_visible()
    told = page.evaluate("navigator.clipboard.readText()")
    assert told.startswith("**GV101 inplace-saved-output** (error)\n\n")
    culprit = snapshot.sites[snapshot.findings[0].culprit or 0]
    assert f"```python\n{culprit.text.strip()}\n```" in told
    assert "\n1. " in told
    assert "**Fix:** " in told
    assert "gradviz explain GV101" in told
    assert watched.errors == []
