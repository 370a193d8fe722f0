"""The widget and the plugin in a real JupyterLab, with and without a kernel."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from playwright.sync_api import expect

import gradviz
from gradviz.render.mime import mimebundle
from tests.browser.conftest import PATIENCE_MS, Watched
from tests.browser.lab import ROOT, Lab, command, run_all, want_no_kernel
from tests.gradviz import samples

pytestmark = pytest.mark.slow

expect.set_options(timeout=PATIENCE_MS)

LOAD = "%load_ext gradviz\nimport gradtape as torch"
PROGRAM = """\
x = torch.tensor([[1.0, -2.0], [3.0, 4.0]], requires_grad=True)
w = torch.tensor([0.5, 2.0], requires_grad=True)
hidden = (x * w + 1.0).exp()
loss = hidden.sum()
loss.backward()
"""


def expected_nodes() -> int:
    """Record the program here; the notebook must show as many nodes."""
    import gradtape

    with gradviz.record() as recorder:
        exec(PROGRAM, {"torch": gradtape})
    return len(recorder.snapshot().nodes)


def test_a_recorded_cell_shows_its_graph_and_so_does_the_saved_notebook(
    lab: Lab,
    other_lab: Lab,
    lab_page: Callable[..., Watched],
    new_page: Callable[..., Watched],
    tmp_path: Path,
):
    count = f"{expected_nodes()} nodes"
    lab.write("step.ipynb", LOAD, f"%%gradviz --title step\n{PROGRAM}hidden.shape")
    live = lab_page()
    lab.open(live.page, "step.ipynb")
    run_all(live.page)
    expect(live.page.get_by_test_id("node-count")).to_have_text(count)
    expect(live.page.get_by_test_id("box-count")).to_be_visible()
    # The cell's own result is still there.
    expect(live.page.get_by_text("torch.Size([2, 2])")).to_be_visible()
    live.page.screenshot(path=tmp_path / "live.png")
    command(live.page, "docmanager:save")
    saved = lab.read("step.ipynb")
    (output,) = [o for o in saved.cells[1].outputs if o.output_type == "display_data"]
    assert output.data["application/vnd.gradviz+json"]["title"] == "step"
    assert live.errors == []

    copy = other_lab.folder / "step.ipynb"
    copy.write_bytes((lab.folder / "step.ipynb").read_bytes())
    reopened = new_page()
    want_no_kernel(reopened.page)
    other_lab.open(reopened.page, "step.ipynb")
    expect(reopened.page.get_by_test_id("node-count")).to_have_text(count)
    expect(reopened.page.get_by_test_id("box-count")).to_be_visible()
    reopened.page.screenshot(path=tmp_path / "reopened.png")
    assert reopened.errors == []


def test_every_view_is_its_own_and_a_cell_that_runs_again_has_one(
    lab: Lab, lab_page: Callable[..., Watched]
):
    lab.write("views.ipynb", LOAD, PROGRAM, "%gradviz loss", "%gradviz hidden * 2")
    watched = lab_page(height=1700)
    lab.open(watched.page, "views.ipynb")
    run_all(watched.page)
    counts = watched.page.get_by_test_id("node-count")
    expect(counts).to_have_text(["6 nodes", "6 nodes"])
    watched.page.get_by_test_id("search").first.click()
    watched.page.keyboard.type("ExpBackward0\n")
    headings = watched.page.get_by_test_id("inspector").get_by_role("heading", level=2)
    expect(headings).to_contain_text(["ExpBackward0", "hidden * 2"])
    run_all(watched.page)
    expect(headings).to_have_text(["loss", "hidden * 2"])
    expect(counts).to_have_text(["6 nodes", "6 nodes"])
    assert watched.errors == []


def test_the_view_follows_the_theme_of_jupyterlab(
    lab: Lab, lab_page: Callable[..., Watched], tmp_path: Path
):
    lab.write("theme.ipynb", LOAD, f"%%gradviz\n{PROGRAM}")
    watched = lab_page()
    lab.open(watched.page, "theme.ipynb")
    run_all(watched.page)
    expect(watched.page.get_by_test_id("box-count")).to_be_visible()
    inspector = watched.page.get_by_test_id("inspector")
    expect(inspector).to_have_css("color-scheme", "light")
    command(watched.page, "apputils:change-theme", {"theme": "JupyterLab Dark"})
    expect(inspector).to_have_css("color-scheme", "dark")
    expect(watched.page.locator("#jupyterlab-splash")).to_have_count(0)
    watched.page.get_by_test_id("search").click()
    watched.page.keyboard.type("ExpBackward0\n")
    expect(inspector.get_by_role("heading", level=2)).to_contain_text("ExpBackward0")
    watched.page.screenshot(path=tmp_path / "dark.png")
    command(watched.page, "apputils:change-theme", {"theme": "JupyterLab Light"})
    expect(inspector).to_have_css("color-scheme", "light")
    assert watched.errors == []


def test_a_click_on_a_place_selects_the_expression_in_its_cell(
    lab: Lab, lab_page: Callable[..., Watched]
):
    lab.write("reveal.ipynb", LOAD, f"%%gradviz\n{PROGRAM}", "'the last cell'")
    watched = lab_page(height=1200)
    lab.open(watched.page, "reveal.ipynb")
    run_all(watched.page)
    watched.page.get_by_test_id("search").click()
    watched.page.keyboard.type("ExpBackward0\n")
    source = watched.page.get_by_test_id("source")
    expect(source.locator("mark")).to_have_text("(x * w + 1.0).exp()")
    expect(source.get_by_role("button")).to_have_text(re.compile(r"In\[2\]:4"))
    source.get_by_role("button").click()
    watched.page.wait_for_function(
        """() => {
            const notebook = jupyterapp.shell.currentWidget.content;
            const { editor } = notebook.activeCell;
            const { start, end } = editor.getSelection();
            const line = editor.getLine(start.line) ?? "";
            const selected = line.slice(start.column, end.column);
            return notebook.activeCellIndex === 1 && selected === "(x * w + 1.0).exp()";
        }"""
    )
    assert watched.errors == []


@pytest.mark.parametrize("which", ["lab", "plain_lab"])
def test_a_living_view_follows_its_widget(
    request: pytest.FixtureRequest, lab_page: Callable[..., Watched], which: str
):
    server: Lab = request.getfixturevalue(which)
    view = "from gradviz.widget import GradvizWidget\nview = GradvizWidget(loss)"
    server.write("living.ipynb", LOAD, PROGRAM, f"{view}\nview", "view.snapshot = w")
    watched = lab_page()
    server.open(watched.page, "living.ipynb")
    run_all(watched.page)
    expect(watched.page.get_by_test_id("node-count")).to_have_text("1 node")
    # A page that is opened later sees the same.
    command(watched.page, "docmanager:save")
    server.open(watched.page, "living.ipynb")
    expect(watched.page.get_by_test_id("node-count")).to_have_text("1 node")
    assert watched.errors == []


def test_nothing_is_cut_off_in_an_output_of_forty_characters(
    lab: Lab, lab_page: Callable[..., Watched], tmp_path: Path
):
    lab.write("narrow.ipynb", LOAD, f"%%gradviz\n{PROGRAM}")
    watched = lab_page(width=500)
    lab.open(watched.page, "narrow.ipynb")
    command(watched.page, "application:toggle-left-area")
    run_all(watched.page)
    expect(watched.page.get_by_test_id("box-count")).to_be_attached()
    watched.page.get_by_test_id("all-tools").click()  # folded in so small a cell
    expect(watched.page.get_by_test_id("box-count")).to_be_visible()
    watched.page.screenshot(path=tmp_path / "narrow.png")
    for part in ("status", "inspector", "breadcrumb"):
        sizes = watched.page.get_by_test_id(part).evaluate(
            "element => [element.scrollWidth, element.clientWidth]"
        )
        assert sizes[0] <= sizes[1], part
        assert sizes[1] < 420
    assert watched.errors == []


def test_without_the_plugin_the_widget_fetches_the_view_once(
    plain_lab: Lab, new_page: Callable[..., Watched], tmp_path: Path
):
    plain_lab.write("plain.ipynb", LOAD, PROGRAM, *["%gradviz loss"] * 2)
    watched = new_page(height=1700)
    sent: list[int] = []
    watched.page.on(
        "websocket",
        lambda socket: socket.on("framereceived", lambda data: sent.append(len(data))),
    )
    plain_lab.open(watched.page, "plain.ipynb")
    run_all(watched.page)
    counts = watched.page.get_by_test_id("node-count")
    expect(counts).to_have_text(["6 nodes", "6 nodes"])
    expect(watched.page.get_by_test_id("box-count")).to_have_count(2)
    assert watched.page.evaluate("Object.keys(gradvizBundles).length") == 1
    bundle = (ROOT / "gradviz/render/static/gradviz.js").stat().st_size
    assert sum(size > bundle for size in sent) == 1
    watched.page.screenshot(path=tmp_path / "plain.png")
    assert watched.errors == []


def test_the_html_form_needs_neither_kernel_nor_plugin(
    new_page: Callable[..., Watched], tmp_path: Path
):
    snapshot = samples.cnn()
    form = mimebundle(snapshot)["text/html"]
    (tmp_path / "saved.html").write_text(form, encoding="utf-8")
    watched = new_page()
    watched.page.context.set_offline(True)
    watched.page.goto((tmp_path / "saved.html").as_uri())
    frame = watched.page.frame_locator("iframe")
    count = f"{len(snapshot.nodes)} nodes"
    expect(frame.get_by_test_id("node-count")).to_have_text(count)
    expect(frame.get_by_test_id("box-count")).to_be_visible()
    frame.get_by_role("button", name="Export").click()
    expect(frame.get_by_role("menuitem", name="Copy link")).to_have_count(0)
    with watched.page.expect_download() as download:
        frame.get_by_role("menuitem", name="Recording (JSON)").click()
    download.value.save_as(tmp_path / "saved.json")
    assert gradviz.load(tmp_path / "saved.json") == snapshot
    assert watched.errors == []


def test_an_installation_brings_the_plugin():
    try:
        distribution("autogradviz")
    except PackageNotFoundError:
        pytest.skip("gradviz runs from the checkout and is not installed")
    listed = subprocess.run(
        [sys.executable, "-m", "jupyter", "labextension", "list"],
        capture_output=True,
        text=True,
        check=True,
    )
    text = re.sub(r"\x1b\[\d+m", "", listed.stdout + listed.stderr)
    assert re.search(r"^ *gradviz v\S+ +enabled +OK", text, re.MULTILINE), text
