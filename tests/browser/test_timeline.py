"""The timeline of an exported page, played back as a user does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

import gradtape as torch
import gradviz
from tests.browser.conftest import PATIENCE_MS, Watched

pytestmark = pytest.mark.slow

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two passes into the same leaf, with a write in between."""
    weight = torch.tensor([3.0, 4.0], requires_grad=True)
    with gradviz.record(title="two passes") as recorder:
        for _ in range(2):
            hidden = weight * 2
            hidden.add_(1)
            hidden.sum().backward()
    path = tmp_path_factory.mktemp("timeline") / "page.html"
    return gradviz.export_html(recorder, path)


def test_events_step_play_and_say_what_happened(
    page_file: Path, new_page: Callable[..., Watched], tmp_path: Path
):
    watched = new_page()
    page = watched.page
    page.goto(page_file.as_uri())
    count, event = (page.get_by_test_id(f"timeline-{x}") for x in ("count", "event"))
    expect(count).to_have_text("26 events")
    page.keyboard.press(".")
    expect(event).to_contain_text("mul made MulBackward0 of shape (2,), test_timeline")
    page.keyboard.press(".")
    expect(event).to_contain_text("add_ made AddBackward0 of shape (2,), test_timeline")
    page.keyboard.press(".")
    expect(event).to_contain_text("add_ wrote storage 0 (hidden), now version 1, ")
    # A page on is the end of the phase: first the forward calls, then the pass.
    slider = page.get_by_role("slider", name="Event of the recording")
    slider.press("PageDown")
    slider.press("PageDown")
    expect(event).to_have_text("backward() ended")
    slider.press("ArrowLeft")
    expect(event).to_have_text("weight.grad took in a gradient of norm 2.83")
    slider.press("End")
    slider.press("ArrowLeft")
    expect(event).to_have_text(
        "weight.grad took in a gradient of norm 2.83; the sum in it now has norm 5.66"
    )
    expect(slider).to_have_attribute(
        "aria-valuetext",
        "Event 25 of 26: weight.grad "
        "took in a gradient of norm 2.83; the sum in it now has norm 5.66",
    )
    page.screenshot(path=tmp_path / "lit.png")
    page.get_by_role("combobox", name="Events a second").select_option("64/s")
    slider.press("Home")
    page.keyboard.press("p")
    expect(count).to_have_text("26 / 26")
    page.keyboard.press("Escape")
    expect(count).to_have_text("26 events")
    assert watched.errors == []
