"""The page that a watched training leaves behind: no graph, but findings and flow."""

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


def test_the_page_of_a_training_says_what_was_found_and_shows_the_flow(
    tmp_path: Path, new_page: Callable[..., Watched]
):
    net = torch.nn.Module()
    net.used = torch.nn.Parameter(torch.ones(4))
    net.spare = torch.nn.Parameter(torch.ones(4))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    file = tmp_path / "seen.html"
    with gradviz.watch(net, optimizer, every=1, page=file, say=str) as seen:
        for _ in range(6):
            optimizer.zero_grad()
            net.used.sum().backward()
            optimizer.step()
    assert seen.path == file

    watched = new_page()
    page = watched.page
    page.goto(file.as_uri())
    finding = page.get_by_test_id("finding-0")
    expect(finding).to_contain_text("unused-submodule")
    expect(finding).to_contain_text("Since step 0 spare got no gradient")
    expect(page.get_by_test_id("raised")).to_have_count(0)

    page.get_by_role("tab", name="Gradient flow").click()
    flow = page.get_by_test_id("gradient-flow")
    expect(flow.get_by_test_id("flow-counts")).to_have_text("2 parameters, 6 steps.")
    rows = flow.get_by_test_id("flow-layers").get_by_role("row")
    expect(rows.nth(1)).to_contain_text("spare✕ no gradient: GV601 unused-submodule")
    row = rows.nth(2)
    expect(row).to_contain_text("2")  # the norm of four ones
    expect(row).to_contain_text("0.33")  # a step of 1 from 3, the last one
    assert watched.errors == []
