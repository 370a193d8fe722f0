"""The wheel and the tools of a view in a page, in a saved output, and in JupyterLab."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import gradviz
from gradviz.render.mime import mimebundle
from tests.browser.conftest import PATIENCE_MS, Watched
from tests.browser.lab import Lab, command, run_all
from tests.gradviz import samples

pytestmark = pytest.mark.slow

expect.set_options(timeout=PATIENCE_MS)

LOAD = "%load_ext gradviz\nimport gradtape as torch"
PROGRAM = """\
x = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (x * 2.0).exp().sum()
loss.backward()
"""
MANY = "\n".join(f"# {at}" for at in range(80))


def picture(graph: Locator) -> str:
    """What the canvas shows, once it rests."""
    canvas = graph.locator("canvas").first
    before = ""
    while before != (now := canvas.evaluate("canvas => canvas.toDataURL()")):
        before = now
        canvas.evaluate(
            "() => new Promise(done => requestAnimationFrame(() =>"
            " requestAnimationFrame(() => requestAnimationFrame(done))))"
        )
    return before


def other_picture(graph: Locator, before: str) -> str:
    """What the canvas shows once it shows something else; the wheel takes its time."""
    for _ in range(500):
        if (now := picture(graph)) != before:
            return now
    raise AssertionError("the picture stays as it was")


def wheel_over(page: Page, graph: Locator, x: float, y: float) -> None:
    """Turn the wheel with the pointer over the upper left of the graph."""
    box = graph.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.1 * box["width"], box["y"] + 0.2 * box["height"])
    page.mouse.wheel(x, y)


def click_into(page: Page, graph: Locator) -> None:
    box = graph.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 5, box["y"] + 5)


def test_in_a_page_the_wheel_zooms_at_once(
    tmp_path: Path, new_page: Callable[..., Watched]
):
    file = gradviz.export_html(samples.cnn(), tmp_path / "page.html")
    watched = new_page()
    page = watched.page
    page.goto(file.as_uri())
    expect(page.get_by_test_id("box-count")).to_be_visible()
    graph = page.get_by_test_id("graph")
    before = picture(graph)
    wheel_over(page, graph, 0, -200)
    other_picture(graph, before)
    assert watched.errors == []


def test_a_saved_output_lets_the_wheel_scroll_until_it_is_clicked(
    tmp_path: Path, new_page: Callable[..., Watched]
):
    form = mimebundle(samples.cnn())["text/html"]
    room = '<p style="height: 1500px">Text around it.</p>'
    (tmp_path / "saved.html").write_text(f"<h1>Top</h1>{form}{room}")
    watched = new_page()
    page = watched.page
    page.goto((tmp_path / "saved.html").as_uri())
    frame = page.frame_locator("iframe")
    expect(frame.get_by_test_id("box-count")).to_be_visible()
    graph = frame.get_by_test_id("graph")
    before = picture(graph)
    wheel_over(page, graph, 0, 100)
    page.wait_for_function("scrollY > 50")
    assert picture(graph) == before
    page.evaluate("scrollTo(0, 0)")
    click_into(page, graph)
    wheel_over(page, graph, 0, -100)
    held = other_picture(graph, before)
    assert page.evaluate("scrollY") == 0
    page.get_by_role("heading", name="Top").click()
    wheel_over(page, graph, 0, 100)
    page.wait_for_function("scrollY > 50")
    assert picture(graph) == held
    assert watched.errors == []


SCROLLED = "document.querySelector('.jp-WindowedPanel-outer').scrollTop"


def test_in_jupyterlab_the_wheel_is_the_notebooks_until_the_view_is_clicked(
    lab: Lab, lab_page: Callable[..., Watched], tmp_path: Path
):
    lab.write("wheel.ipynb", LOAD, f"%%gradviz\n{PROGRAM}", MANY)
    watched = lab_page(height=1000)
    page = watched.page
    lab.open(page, "wheel.ipynb")
    run_all(page)
    expect(page.get_by_test_id("box-count")).to_be_visible()
    graph = page.get_by_test_id("graph")
    graph.scroll_into_view_if_needed()
    before = picture(graph)
    start = page.evaluate(SCROLLED)
    wheel_over(page, graph, 0, 60)
    page.wait_for_function(f"{SCROLLED} > {start}")
    assert picture(graph) == before
    # Ctrl zooms at once, and scrolls nothing.
    start = page.evaluate(SCROLLED)
    page.keyboard.down("Control")
    wheel_over(page, graph, 0, -60)
    page.keyboard.up("Control")
    zoomed = other_picture(graph, before)
    # A click into the view takes the wheel, one outside gives it back.
    click_into(page, graph)
    wheel_over(page, graph, 0, -60)
    held = other_picture(graph, zoomed)
    wheel_over(page, graph, 40, 0)  # two fingers
    panned = other_picture(graph, held)
    assert page.evaluate(SCROLLED) == start
    page.screenshot(path=tmp_path / "held.png")
    page.locator(".jp-InputPrompt").first.click()
    start = page.evaluate(SCROLLED)
    wheel_over(page, graph, 0, 60)
    page.wait_for_function(f"{SCROLLED} > {start}")
    assert picture(graph) == panned
    assert watched.errors == []


def test_in_a_small_cell_the_tools_fold_away_and_come_by_key(
    lab: Lab, lab_page: Callable[..., Watched], tmp_path: Path
):
    lab.write("small.ipynb", LOAD, f"%%gradviz\n{PROGRAM}")
    watched = lab_page(width=520)
    page = watched.page
    lab.open(page, "small.ipynb")
    command(page, "application:toggle-left-area")
    run_all(page)
    tools = page.get_by_test_id("all-tools")
    expect(tools).to_be_visible()
    zoom = page.get_by_role("button", name="Zoom in")
    for part in (zoom, page.get_by_test_id("timeline"), page.get_by_test_id("status")):
        expect(part).to_be_hidden()
    canvas = page.get_by_test_id("graph").bounding_box()
    assert canvas is not None
    page.screenshot(path=tmp_path / "folded.png")
    tools.focus()
    page.keyboard.press("Enter")
    expect(zoom).to_be_visible()
    expect(page.get_by_test_id("status")).to_be_visible()
    smaller = page.get_by_test_id("graph").bounding_box()
    assert smaller is not None
    assert smaller["height"] < canvas["height"]
    assert watched.errors == []
