"""The widget and the plugin in a real JupyterLab, with and without a kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import gradviz
from tests.browser.conftest import PATIENCE_MS, Watched
from tests.browser.lab import Lab, command, run_all, serve

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


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab as a user of gradviz has it."""
    with serve(tmp_path_factory.mktemp("lab")) as server:
        yield server


def expected_nodes() -> int:
    """Record the program here; the notebook must show as many nodes."""
    import gradtape

    with gradviz.record() as recorder:
        exec(PROGRAM, {"torch": gradtape})
    return len(recorder.snapshot().nodes)


def shown_counts(page: Page) -> list[str]:
    return page.get_by_test_id("node-count").all_inner_texts()


def test_a_recorded_cell_shows_its_graph_and_so_does_the_saved_notebook(
    lab: Lab, new_page: Callable[..., Watched], tmp_path: Path
):
    count = f"{expected_nodes()} nodes"
    lab.write("step.ipynb", LOAD, f"%%gradviz --title step\n{PROGRAM}hidden.shape")
    live = new_page()
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

    # Another server: no kernel can start there, and the notebook is not trusted.
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "step.ipynb").write_bytes((lab.folder / "step.ipynb").read_bytes())
    with serve(folder, kernels=False) as elsewhere:
        reopened = new_page()
        elsewhere.open(reopened.page, "step.ipynb")
        reopened.page.get_by_role("button", name="No Kernel", exact=True).click()
        expect(reopened.page.get_by_test_id("node-count")).to_have_text(count)
        expect(reopened.page.get_by_test_id("box-count")).to_be_visible()
        reopened.page.screenshot(path=tmp_path / "reopened.png")
        assert reopened.errors == []
