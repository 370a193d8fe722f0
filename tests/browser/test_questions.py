"""Every question about a node, a saved tensor, a view or a pass, asked in a browser."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import gradtape as torch
import gradviz
from gradviz import ir
from tests.browser.conftest import PATIENCE_MS, Watched
from tests.browser.test_page import facts, heading, search

expect.set_options(timeout=PATIENCE_MS)


def recorded() -> ir.Snapshot:
    """Two steps, a saved tensor that is overwritten, a NaN that is healed, a view."""
    torch.manual_seed(0)
    weight = torch.randn(3, 3, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=50.0)
    with gradviz.record(title="questions") as rec:
        for _ in range(2):
            optimizer.zero_grad()
            rows = (torch.ones(4, 3) @ weight).sin()
            turned = rows.t()
            ratio = turned[1:] / turned[1:].detach() * 0 / 0  # NaN everywhere
            healed = torch.where(torch.isnan(ratio), torch.zeros_like(ratio), ratio)
            ((rows**2).mean() + healed.detach().sum()).backward()
            optimizer.step()
        mask = weight.sigmoid()
        mask.mul_(2)
    return rec.snapshot()


@pytest.fixture(scope="module")
def snapshot() -> ir.Snapshot:
    return recorded()


@pytest.fixture
def watched(
    snapshot: ir.Snapshot, new_page: Callable[..., Watched], tmp_path: Path
) -> Iterator[Watched]:
    """The page of the recording; it must not complain until the test is over."""
    watched = new_page(height=1400)
    watched.page.goto(gradviz.export_html(snapshot, tmp_path / "q.html").as_uri())
    expect(watched.page.get_by_test_id("box-count")).to_be_visible()
    yield watched
    assert watched.errors == []


@pytest.fixture
def page(watched: Watched) -> Page:
    return watched.page


def tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name).click()
    expect(page.get_by_role("tab", name=name)).to_have_attribute(
        "aria-selected", "true"
    )


def rows(page: Page, table: str) -> Locator:
    return page.get_by_test_id(table).locator("tbody tr")


def test_the_ledger_lists_what_is_saved_and_leads_to_the_node(
    page: Page, snapshot: ir.Snapshot
):
    tab(page, "Ledger")
    expect(page.get_by_test_id("ledger-totals")).to_contain_text(
        f"{len(snapshot.saved)} saved tensors in "
    )
    page.get_by_role("button", name="Overwritten 1").click()
    expect(rows(page, "ledger-saved")).to_have_count(1)
    expect(rows(page, "ledger-saved")).to_contain_text("0 → 1 modified")
    rows(page, "ledger-saved").get_by_role("button").focus()
    page.keyboard.press("Enter")
    expect(rows(page, "ledger-saved")).to_have_attribute("aria-current", "true")
    tab(page, "Inspector")
    expect(heading(page)).to_contain_text("SigmoidBackward0")
    expect(page.get_by_test_id("saved")).to_contain_text("by mul_ test_questions.py:")


def test_the_ledger_tells_where_nan_is_born_and_healed(page: Page):
    tab(page, "Ledger")
    page.get_by_role("button", name="NaN and Inf").click()
    page.get_by_role("button", name="Births").click()
    first = rows(page, "ledger-bad").first
    expect(first).to_contain_text("birth")
    expect(first).to_contain_text("NaN")
    page.get_by_role("button", name="Healed").click()
    expect(rows(page, "ledger-bad").first).to_contain_text("where")


def test_two_passes_are_compared(page: Page):
    tab(page, "Compare")
    expect(page.get_by_role("button", name="= Same")).to_be_visible()
    expect(page.get_by_role("button", name="+ Added 0")).to_be_visible()
    page.get_by_role("button", name="= Same").click()
    row = rows(page, "compare-rows").filter(has_text="sin").first
    row.get_by_role("button").click()
    expect(page.locator(".both")).to_have_text("= sin inpass 1pass 2")
    page.locator(".both").get_by_role("button", name="pass 1").click()
    expect(row).to_have_attribute("aria-current", "true")


def test_the_inspector_answers_what_an_op_does_and_who_keeps_it(page: Page):
    search(page, "sigmoid")
    expect(heading(page)).to_contain_text("SigmoidBackward0")
    expect(page.get_by_test_id("op-doc").get_by_role("link")).to_have_attribute(
        "href", "https://docs.pytorch.org/docs/stable/generated/torch.sigmoid.html"
    )
    expect(page.get_by_test_id("formulas")).to_have_text(
        "selfgrad * result * (1 - result)"
    )
    versions = page.get_by_role("list", name="Versions of this storage").last
    expect(versions).to_contain_text("overwritten since")
    expect(versions.get_by_role("listitem")).to_have_count(2)
    assert facts(page, "memory-facts")["Saves"] == "36 B"
    page.get_by_role("searchbox").fill("is:accumulate")
    page.keyboard.press("Enter")
    expect(heading(page)).to_contain_text("AccumulateGrad")
    expect(page.get_by_test_id("sparkline")).to_have_attribute(
        "aria-label", re.compile("^Norm of the gradient from (pass|step) ")
    )


def test_a_view_is_laid_out_tried_and_laid_over_another(page: Page):
    search(page, "TBackward0")
    expect(heading(page)).to_contain_text("TBackward0")
    page.get_by_test_id("stride-picture").locator(
        "[data-row='2'][data-column='1']"
    ).focus()
    expect(page.get_by_test_id("arithmetic")).to_have_text(
        "index (2, 1): 2·1 + 1·3 + offset 0 = 5, byte 20"
    )
    tried = page.get_by_test_id("what-if")
    tried.get_by_role("textbox").fill("[1:, ::2].contiguous()")
    page.keyboard.press("Enter")
    memory = page.get_by_test_id("trail").locator("tbody td:last-child")
    expect(memory).to_have_text(["", "same memory", "a copy, 16 B"])
    tried.get_by_role("button", name="Undo").click()
    expect(page.get_by_test_id("overlaps")).to_contain_text(
        "reaches 4 of 4 addresses too."
    )
    assert facts(page, "layout-facts")["Strides"] == "(1, 6)"
