"""The gradient flow of an exported page: charts, verdicts, and the way to the graph."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import gradtape as torch
import gradviz
from tests.browser.axe import grave_violations
from tests.browser.conftest import PATIENCE_MS, Watched

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
    expect(said).to_contain_text("small, step 7: norm 2e-8")
    page.keyboard.press("ArrowUp")
    expect(said).to_contain_text("large, step 7: norm 14")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("breadcrumb")).to_contain_text("large")
    expect(flow.get_by_test_id("flow-step")).to_have_text("7")
    page.screenshot(path=tmp_path / "heat.png")
    assert watched.errors == []


@pytest.fixture(scope="module")
def deep_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chain that lets a gradient vanish, an unused layer, and a frozen one."""
    torch.manual_seed(0)
    net = torch.nn.Module()
    net.a_long_name_of_a_stack_of_layers = torch.nn.ModuleList(
        [torch.nn.Linear(4, 4) for _ in range(16)]
    )
    net.spare, net.frozen = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
    net.frozen.requires_grad_(False)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with gradviz.record(title="deep", steps=1) as recorder:
        for _ in range(2):
            optimizer.zero_grad()
            hidden = net.frozen(torch.ones(2, 4))
            for layer in net.a_long_name_of_a_stack_of_layers:
                hidden = torch.sigmoid(layer(hidden))
            hidden.sum().backward()
            optimizer.step()
    path = tmp_path_factory.mktemp("deep") / "page.html"
    return gradviz.export_html(recorder, path)


def bar_share(page: Page, name: str) -> float:
    """How much of the axis the bar of a parameter covers."""
    row = page.get_by_test_id("flow-layers").get_by_role("row")
    track = row.filter(has=page.get_by_title(name, exact=True)).locator(".flow-track")
    return track.evaluate(
        "track => track.firstElementChild.getBoundingClientRect().width"
        " / track.getBoundingClientRect().width"
    )


def test_the_gradient_view_says_what_the_findings_say_and_leaves_no_parameter_out(
    deep_page: Path, new_page: Callable[..., Watched], tmp_path: Path
):
    watched = new_page(width=1000)
    page = watched.page
    page.goto(deep_page.as_uri())
    page.get_by_role("tab", name="Gradient flow").click()
    flow = page.get_by_test_id("gradient-flow")
    verdict = flow.get_by_test_id("flow-verdict")
    expect(verdict).to_contain_text("GV601 unused-submodule spare (Linear) is never")
    expect(verdict).to_contain_text("Also: GV501 vanishing-gradient")
    expect(flow).not_to_contain_text("none is zero")
    rows = flow.get_by_test_id("flow-layers").locator("tbody tr")
    expect(rows).to_have_count(36)  # 32 of the stack, and those without a gradient
    bare = flow.locator("tr.bare")
    expect(bare).to_have_count(4)
    assert [rows.nth(at).get_attribute("class") for at in range(4)] == ["bare"] * 4
    expect(bare.filter(has_text="frozen.weight")).to_contain_text(
        "requires_grad is off"
    )
    expect(bare.filter(has_text="spare.weight")).to_contain_text("GV601")
    # A name is cut at its front: what it ends with can be read.
    name = page.get_by_title("a_long_name_of_a_stack_of_layers.15.weight", exact=True)
    right = "e => e.getBoundingClientRect().right"
    assert name.evaluate("e => e.scrollWidth > e.clientWidth")
    assert name.locator("bdi").evaluate(right) == pytest.approx(name.evaluate(right))
    # Measured: what steps changed, and powers of ten over the bars.
    expect(flow.locator(".flow-axis span").first).to_have_text("1e-8")
    expect(rows.nth(35).locator("td.number").nth(1)).to_have_text(re.compile("e-|0"))
    page.screenshot(path=tmp_path / "deep.png")
    verdict.get_by_role("button", name="GV501").click()
    expect(page.get_by_test_id("finding-1")).to_contain_text("vanishing-gradient")
    assert watched.errors == []


def test_the_axis_is_the_same_for_every_model(
    page_file: Path, new_page: Callable[..., Watched]
):
    page = new_page().page
    page.goto(page_file.as_uri())
    page.get_by_role("tab", name="Gradient flow").click()
    # 16 and 2e-8 on twelve decades from 1e-8 to 1e4, whatever else is there.
    assert bar_share(page, "large") == pytest.approx(0.767, abs=0.01)
    assert bar_share(page, "small") == pytest.approx(0.025, abs=0.01)


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
