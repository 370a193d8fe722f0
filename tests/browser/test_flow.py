"""The gradient flow of an exported page: charts, verdicts, and the way to the graph."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

import gradtape as torch
import gradviz
from tests.browser.conftest import PATIENCE_MS, Watched
from tests.browser.test_accessibility import grave_violations

pytestmark = pytest.mark.slow

expect.set_options(timeout=PATIENCE_MS)

STEPS = 8


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two weights; the gradient of one is a hundred million times the other's."""
    net = torch.nn.Module()
    net.large = torch.nn.Parameter(torch.ones(4))
    net.small = torch.nn.Parameter(torch.ones(4))
    with gradviz.record(title="flow", steps=1) as recorder:
        for step in range(STEPS):
            net.zero_grad()
            (net.large * float(step + 1) + net.small * 1e-8).sum().backward()
    path = tmp_path_factory.mktemp("flow") / "page.html"
    return gradviz.export_html(recorder, path)


def test_layers_over_steps_lead_to_the_graph_and_back(
    page_file: Path, new_page: Callable[..., Watched], tmp_path: Path
):
    watched = new_page()
    page = watched.page
    page.goto(page_file.as_uri())
    page.get_by_role("tab", name="Gradient flow").click()
    flow = page.get_by_test_id("gradient-flow")
    expect(flow.get_by_test_id("flow-counts")).to_have_text("2 parameters, 8 steps.")
    troubles = flow.get_by_test_id("flow-troubles")
    expect(troubles).to_contain_text("1 vanishing:")
    rows = flow.get_by_test_id("flow-layers").get_by_role("row")
    expect(rows).to_have_count(3)
    expect(rows.filter(has_text="large")).to_contain_text("16")  # 8 steps x sqrt(4)
    expect(rows.filter(has_text="small")).to_contain_text("2e-8")
    troubles.get_by_role("button").click()
    expect(page.get_by_test_id("breadcrumb")).to_contain_text("small")
    page.screenshot(path=tmp_path / "layers.png")

    flow.get_by_role("button", name="Over steps").click()
    chart = flow.get_by_test_id("flow-chart")
    expect(chart.locator("canvas")).to_be_visible()
    drawn = "canvas => canvas.toDataURL().length > 2000"
    assert chart.locator("canvas").evaluate(drawn)
    page.screenshot(path=tmp_path / "steps.png")

    flow.get_by_role("button", name="Heat map").click()
    cells = flow.get_by_role("application")
    cells.focus()
    said = flow.get_by_test_id("flow-said")
    page.keyboard.press("ArrowLeft")
    expect(said).to_contain_text("small, step 6: norm 2e-8")
    page.keyboard.press("ArrowUp")
    expect(said).to_contain_text("large, step 6: norm 14")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("breadcrumb")).to_contain_text("large")
    expect(flow.get_by_test_id("flow-step")).to_have_text("6")
    page.screenshot(path=tmp_path / "heat.png")
    assert watched.errors == []


@pytest.mark.parametrize(("scheme", "width"), [("light", 400), ("dark", 1000)])
def test_axe_finds_nothing_serious_in_any_chart_or_moment(
    page_file: Path, new_page: Callable[..., Watched], scheme: str, width: int
):
    page = new_page(color_scheme=scheme, width=width).page
    page.goto(page_file.as_uri())
    page.get_by_role("tab", name="Gradient flow").click()
    views = page.get_by_role("group", name="What to show").get_by_role("button")
    expect(views).to_have_count(5)
    for view in views.all():
        view.click()
        expect(view).to_have_attribute("aria-pressed", "true")
        assert grave_violations(page) == [], view.inner_text()
    for _ in range(3):
        page.keyboard.press(".")
    expect(page.get_by_test_id("timeline-event")).to_be_visible()
    assert grave_violations(page) == []
