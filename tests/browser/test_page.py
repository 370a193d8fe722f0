"""The exported page, opened as a file by a browser that has no network."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import gradviz
from gradviz import ir
from tests.browser.conftest import PATIENCE_MS, Watched
from tests.gradviz import samples

CONVOLUTION = "ConvolutionBackward0"

expect.set_options(timeout=PATIENCE_MS)


def demo_step() -> ir.Snapshot:
    """Record one training step of the demo's network."""
    from gradviz.demo import digits, train

    images, labels = next(train.batches(digits.load()))
    training = train.start()
    with gradviz.record(title="demo") as recorder:
        training.step(images, labels)
    return recorder.snapshot()


@pytest.fixture(scope="module", params=[demo_step, samples.cnn], ids=["demo", "sample"])
def snapshot(request: pytest.FixtureRequest) -> ir.Snapshot:
    return request.param()


@pytest.fixture
def opened(
    snapshot: ir.Snapshot, new_page: Callable[..., Watched], tmp_path: Path
) -> Watched:
    """The page of the snapshot, once its graph is drawn."""
    return open_offline(snapshot, new_page, tmp_path)


def open_offline(
    snapshot: ir.Snapshot,
    new_page: Callable[..., Watched],
    folder: Path,
    **options: str,
) -> Watched:
    path = gradviz.export_html(snapshot, folder / "graph.html")
    watched = new_page(**options)
    watched.page.context.set_offline(True)
    watched.page.goto(path.as_uri())
    expect(watched.page.get_by_test_id("box-count")).to_be_visible()
    return watched


def facts(page: Page, name: str) -> dict[str, str]:
    """Read a list of labels and values as the user does."""
    terms = page.get_by_test_id(name).locator("dt").all_inner_texts()
    values = page.get_by_test_id(name).locator("dd").all_inner_texts()
    return dict(zip(terms, values, strict=True))


def heading(page: Page) -> Locator:
    return page.get_by_test_id("inspector").get_by_role("heading", level=2)


def search(page: Page, text: str) -> None:
    page.keyboard.press("/")
    page.keyboard.type(text)
    page.keyboard.press("Enter")


def hovered_at(page: Page, x: float, y: float, *, frames: int) -> str:
    """Move the pointer and return what the status line says of the node below it."""
    page.mouse.move(x, y)
    for _ in range(frames):
        page.evaluate("new Promise((resolve) => requestAnimationFrame(resolve))")
    return " ".join(page.get_by_test_id("hovered").all_inner_texts())


def convolutions(snapshot: ir.Snapshot) -> list[ir.OpNode]:
    return [node for node in snapshot.nodes if node.name == CONVOLUTION]


def test_the_page_asks_nobody_for_anything_and_complains_about_nothing(
    snapshot: ir.Snapshot, opened: Watched, tmp_path: Path
):
    page = opened.page
    nodes, edges = len(snapshot.nodes), len(snapshot.edges)
    expect(page.get_by_test_id("node-count")).to_have_text(f"{nodes} nodes")
    expect(page.get_by_test_id("edge-count")).to_have_text(f"{edges} edges")
    search(page, CONVOLUTION)
    expect(heading(page)).to_contain_text(CONVOLUTION)
    page.screenshot(path=tmp_path / "light.png")
    assert opened.errors == []
    # Besides the file itself there are only things that the page holds in itself.
    own = [u for u in opened.requests if not u.startswith(("data:", "blob:"))]
    assert own == [(tmp_path / "graph.html").as_uri()]


def test_the_inspector_shows_the_numbers_of_the_convolution(
    snapshot: ir.Snapshot, opened: Watched
):
    search(opened.page, CONVOLUTION)
    expect(heading(opened.page)).to_contain_text(CONVOLUTION)
    shown = facts(opened.page, "summary")
    node = convolutions(snapshot)[0]
    output = snapshot.tensors[node.outputs[0]]
    gradient = snapshot.statistics[node.grad_outputs[0]]
    assert ast.literal_eval(shown["Shape"]) == output.shape
    assert ast.literal_eval(shown["Strides"]) == output.strides
    assert int(shown["Version"]) == output.version
    assert float(shown["Gradient norm"]) == pytest.approx(gradient.norm, rel=1e-3)
    assert len(output.shape) == 4
    assert gradient.norm


def test_the_inspector_marks_the_expression_that_made_the_convolution(
    snapshot: ir.Snapshot, opened: Watched
):
    search(opened.page, CONVOLUTION)
    expect(heading(opened.page)).to_contain_text(CONVOLUTION)
    node = convolutions(snapshot)[0]
    assert node.site is not None
    site = snapshot.sites[node.site]
    place = f"{Path(site.file).name}:{site.line}"
    assert facts(opened.page, "summary")["Source"] == place
    marked = opened.page.get_by_test_id("source").locator("mark").all_inner_texts()
    assert site.column is not None
    assert site.end_column is not None
    assert marked == [site.text[site.column - 1 : site.end_column - 1]]
    assert "conv" in marked[0]


def test_arrow_keys_walk_through_the_graph(
    new_page: Callable[..., Watched], tmp_path: Path
):
    page = open_offline(samples.mlp(), new_page, tmp_path).page
    page.get_by_test_id("graph").focus()
    page.keyboard.press("ArrowUp")  # nothing is selected: it begins at the root
    expect(heading(page)).to_contain_text("SumBackward0")
    for name in ("ReluBackward0", "AddBackward0"):
        page.keyboard.press("ArrowUp")
        expect(heading(page)).to_contain_text(name)
    page.keyboard.press("ArrowDown")
    expect(heading(page)).to_contain_text("ReluBackward0")


def test_a_click_on_the_box_selects_the_convolution(opened: Watched):
    page = opened.page
    page.get_by_role("button", name="Expand all scopes").click()
    page.get_by_test_id("graph").press("f")
    box = page.get_by_test_id("graph").bounding_box()
    assert box is not None
    points = (
        (box["x"] + x, box["y"] + y)
        for y in range(10, int(box["height"]), 16)
        for x in range(10, int(box["width"]), 40)
    )
    # The status line follows the pointer a frame later, so look twice at what is found.
    found = next(
        (x, y)
        for x, y in points
        if CONVOLUTION in hovered_at(page, x, y, frames=0)
        and CONVOLUTION in hovered_at(page, x, y, frames=2)
    )
    page.mouse.click(*found)
    expect(heading(page)).to_contain_text(CONVOLUTION)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_follows_the_colours_of_the_system(
    new_page: Callable[..., Watched], tmp_path: Path, scheme: str
):
    shown = open_offline(samples.cnn(), new_page, tmp_path, color_scheme=scheme)
    search(shown.page, CONVOLUTION)
    expect(heading(shown.page)).to_contain_text(CONVOLUTION)
    colour = shown.page.get_by_test_id("inspector").evaluate(
        "element => getComputedStyle(element).backgroundColor"
    )
    numbers = [float(part) for part in re.findall(r"[\d.]+", colour)[:3]]
    # Mixed colours come as shares of one, plain ones as numbers up to 255.
    brightness = sum(numbers) / 3 / (1 if colour.startswith("color(") else 255)
    assert brightness > 0.8 if scheme == "light" else brightness < 0.3
    shown.page.screenshot(path=tmp_path / f"{scheme}.png")


@pytest.mark.parametrize("name", ["hostile", "empty"])
def test_hostile_and_empty_graphs_open_without_an_error(
    name: str, new_page: Callable[..., Watched], tmp_path: Path
):
    snapshot = samples.SAMPLES[name]()
    watched = open_offline(snapshot, new_page, tmp_path)
    count = f"{len(snapshot.nodes)} nodes"
    expect(watched.page.get_by_test_id("node-count")).to_have_text(count)
    watched.page.keyboard.press("t")  # the table shows every name
    assert watched.errors == []
    assert watched.page.evaluate("document.scripts.length") == 3


def test_a_damaged_page_says_so_in_one_sentence(
    new_page: Callable[..., Watched], tmp_path: Path
):
    path = gradviz.export_html(samples.mlp(), tmp_path / "graph.html")
    page = path.read_text(encoding="utf-8")
    start = page.index('id="gradviz-data">') + len('id="gradviz-data">')
    path.write_text(page[:start] + page[start + 40 :], encoding="utf-8")
    watched = new_page()
    watched.page.goto(path.as_uri())
    problem = watched.page.get_by_role("alert").filter(has_text="damaged")
    expect(problem).to_have_text(
        "The data in this page is damaged: it could not be unpacked."
    )
    assert watched.errors == []


def test_no_other_script_runs_in_the_page(
    new_page: Callable[..., Watched], tmp_path: Path
):
    path = gradviz.export_html(samples.mlp(), tmp_path / "graph.html")
    page = path.read_text(encoding="utf-8")
    added = "<script>window.evil = 1</script><img src=x onerror='window.evil = 2'>"
    path.write_text(page.replace("</body>", f"{added}</body>"), encoding="utf-8")
    watched = new_page()
    watched.page.goto(path.as_uri())
    expect(watched.page.get_by_test_id("box-count")).to_be_visible()
    assert watched.page.evaluate("typeof evil") == "undefined"
    refused = [error for error in watched.errors if "Content Security Policy" in error]
    assert len(refused) == len(watched.errors) >= 2
