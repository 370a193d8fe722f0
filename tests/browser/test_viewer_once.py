"""Saved notebooks hold the viewer once: later outputs take it from the first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbconvert import HTMLExporter
from playwright.sync_api import Page, expect

from gradviz import ir
from gradviz.render.mime import HTML, mimebundle
from tests.browser.conftest import PATIENCE_MS, Watched
from tests.browser.lab import Lab, command, run_all
from tests.gradviz import samples

pytestmark = pytest.mark.slow

expect.set_options(timeout=PATIENCE_MS)


def notebook_page(folder: Path, *outputs: dict[str, object]) -> Path:
    """Write what nbconvert makes of a notebook with these outputs."""
    cells = [
        nbformat.v4.new_code_cell(
            "gradviz.show(x)", outputs=[nbformat.v4.new_output("display_data", data)]
        )
        for data in outputs
    ]
    notebook = nbformat.v4.new_notebook(cells=cells)
    text, _ = HTMLExporter().from_notebook_node(notebook)
    page = folder / "notebook.html"
    page.write_text(text, encoding="utf-8")
    return page


def open_offline(page: Page, file: Path) -> None:
    page.context.set_offline(True)
    page.goto(file.as_uri(), wait_until="commit")


def counts(page: Page, *snapshots: ir.Snapshot) -> None:
    """Each frame shows its own graph."""
    for place, snapshot in enumerate(snapshots):
        frame = page.frame_locator(f"iframe >> nth={place}")
        count = frame.get_by_test_id("node-count")
        expect(count).to_have_text(f"{len(snapshot.nodes)} nodes")
        expect(frame.get_by_test_id("box-count")).to_be_attached()


def test_three_graphs_show_with_one_viewer(
    tmp_path: Path, new_page: Callable[..., Watched]
):
    first, second, third = samples.cnn(), samples.mlp(), samples.cnn()
    outputs = [
        mimebundle(first),
        mimebundle(second, viewer=False),
        mimebundle(third, viewer=False),
    ]
    # At most 40 kB of a later output are viewer: all of its page is less.
    assert len(outputs[0][HTML]) > 200_000
    assert all(len(each[HTML]) < 40_000 for each in outputs[1:])
    page = new_page(height=2000).page
    open_offline(page, notebook_page(tmp_path, *outputs))
    counts(page, first, second, third)
    page.reload(wait_until="commit")
    counts(page, first, second, third)


def test_the_order_of_outputs_does_not_matter(
    tmp_path: Path, new_page: Callable[..., Watched]
):
    first, second = samples.mlp(), samples.cnn()
    page = new_page(height=2000).page
    outputs = mimebundle(first, viewer=False), mimebundle(second)
    open_offline(page, notebook_page(tmp_path, *outputs))
    counts(page, first, second)


def test_a_viewer_that_lies_folded_in_a_card_serves_the_others(
    tmp_path: Path, new_page: Callable[..., Watched]
):
    failed, later = samples.overwritten(), samples.mlp()
    page = new_page(height=2000).page
    form = mimebundle(failed)
    assert "<details>" in form[HTML]
    outputs = form, mimebundle(later, viewer=False)
    open_offline(page, notebook_page(tmp_path, *outputs))
    frame = page.frame_locator("iframe >> nth=1")
    count = frame.get_by_test_id("node-count")
    expect(count).to_have_text(f"{len(later.nodes)} nodes")


def test_where_it_is_missing_a_picture_says_what_to_do(
    tmp_path: Path, new_page: Callable[..., Watched]
):
    page = new_page().page
    output = mimebundle(samples.cnn(), viewer=False)
    open_offline(page, notebook_page(tmp_path, output))
    frame = page.frame_locator("iframe")
    expect(frame.get_by_text("restart the kernel and run all cells")).to_be_visible()
    drawn = frame.locator("#missing img")
    assert drawn.evaluate("image => image.naturalWidth") > 100
    page.screenshot(path=tmp_path / "missing.png")


def test_what_another_frame_lends_is_not_run_unless_it_is_the_viewer(
    tmp_path: Path, new_page: Callable[..., Watched]
):
    """A stranger's frame answers first, with a program of its own."""
    answer = """<script>
        const packed = async (text) => {
            const stream = new Blob([text]).stream()
                .pipeThrough(new CompressionStream("deflate"));
            const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
            return btoa(String.fromCharCode(...bytes));
        };
        addEventListener("message", async ({ data, source }) => {
            const answer = data?.gradviz?.wanted;
            const viewer = await packed("document.title = 'taken over'; top.taken = 1");
            if (answer) source.postMessage({ gradviz: { answer, viewer } }, "*");
        });
    </script>"""
    form = mimebundle(samples.mlp(), viewer=False)[HTML]
    file = tmp_path / "strange.html"
    file.write_text(f"{answer}{form}", encoding="utf-8")
    page = new_page().page
    open_offline(page, file)
    expect(page.frame_locator("iframe").get_by_text("damaged")).to_be_visible()
    assert page.frames[1].title() != "taken over"


LOAD = "%load_ext gradviz\nimport gradtape as torch"
PROGRAM = "x = torch.ones(2, requires_grad=True)\nloss = (x * 2.0).exp().sum()"


def test_jupyterlab_saves_it_once_and_shows_all_without_a_kernel(
    lab: Lab,
    lab_page: Callable[..., Watched],
    new_page: Callable[..., Watched],
    tmp_path: Path,
):
    shows = ["%gradviz loss", "%gradviz loss * 2", "%gradviz loss + x.sum()"]
    lab.write("thrice.ipynb", LOAD, PROGRAM, *shows)
    watched = lab_page(height=2200)
    lab.open(watched.page, "thrice.ipynb")
    run_all(watched.page)
    expect(watched.page.get_by_test_id("box-count")).to_have_count(3)
    command(watched.page, "docmanager:save")
    saved = lab.folder / "thrice.ipynb"
    sizes = [
        len(cell.outputs[0].data[HTML]) for cell in lab.read("thrice.ipynb").cells[2:]
    ]
    assert sizes[0] > 200_000
    assert max(sizes[1:]) < 40_000
    assert saved.stat().st_size < 500_000

    # Elsewhere: neither a kernel nor the plugin, only what was saved.
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "thrice.ipynb").write_bytes(saved.read_bytes())
    text, _ = HTMLExporter().from_filename(str(folder / "thrice.ipynb"))
    file = folder / "thrice.html"
    file.write_text(text, encoding="utf-8")
    page = new_page(height=2200).page
    open_offline(page, file)
    for place in range(3):
        frame = page.frame_locator(f"iframe >> nth={place}")
        expect(frame.get_by_test_id("box-count")).to_be_attached()
    page.screenshot(path=tmp_path / "thrice.png")
