"""The story of a finding, stepped through by keyboard, line by line of its chain."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import gradviz
from gradviz import ir
from gradviz.diagnosis.ghosts import NO_NODE
from tests.browser.axe import grave_in_light_and_dark, grave_violations
from tests.browser.conftest import PATIENCE_MS, Watched
from tests.browser.test_drawn import picture, words
from tests.rules.harness import Case, case, recorded
from tests.rules.tables import cases_in

pytestmark = pytest.mark.slow

expect.set_options(timeout=PATIENCE_MS)

TOLD = [
    "numerics.gv401",  # NaN in a value
    "numerics.gv405",
    "inplace.gv101",
    "cuts.gv306",  # detach
    "cuts.gv304",
    "models.gv606",  # a head that is no part
    "optimizers.gv621",
    "optimizers.gv610",
    "flow.gv501",  # vanishing
    "lifetime.gv203",
]
SPREAD = re.compile(r"(NaN|Inf) (spreads to|reaches|goes back in|comes to) ")
SAID = ["spreads to", "reaches the loss", "comes to"]
STOP = re.compile(r"Stop (\d+) of (\d+)(?:, ([^,:]+):(\d+))?(, the cause)?: (.*)")


@pytest.fixture
def opened(new_page: Callable[..., Watched], tmp_path: Path) -> Callable[..., Watched]:
    def open_page(snapshot: ir.Snapshot, **options: object) -> Watched:
        path = gradviz.export_html(snapshot, tmp_path / "story.html")
        watched = new_page(**options)
        watched.page.goto(path.as_uri())
        expect(watched.page.get_by_test_id("story")).to_be_visible()
        return watched

    return open_page


def line(snapshot: ir.Snapshot, site: int | None) -> tuple[str, int] | None:
    if site is None:
        return None
    return snapshot.sites[site].file, snapshot.sites[site].line


def chain(snapshot: ir.Snapshot, finding: ir.Finding) -> list[int]:
    """Return the lines of `why` about what a finding blames, then its other lines."""
    blamed = line(snapshot, finding.culprit)
    answers = [
        step.answer
        for step in snapshot.answer_steps
        if step.decision
        and snapshot.answers[step.answer].finding == finding.code
        and line(snapshot, step.site) == blamed
    ]
    steps = [step for step in snapshot.answer_steps if step.answer in answers[:1]]
    told = [each for step in steps if (each := line(snapshot, step.site))]
    if blamed is not None and blamed not in told:
        told.insert(0, blamed)
    for site in (*finding.related, finding.symptom):
        each = line(snapshot, site)
        if each is not None and each not in told:
            told.append(each)
    return [number for _, number in told]


def stop_of(page: Page, number: int) -> re.Match[str]:
    live = page.get_by_test_id("live")
    expect(live).to_contain_text(f"Stop {number} of ")
    found = STOP.fullmatch(live.inner_text())
    assert found is not None, live.inner_text()
    return found


@pytest.mark.parametrize("file", TOLD)
def test_the_arrow_keys_walk_the_chain_of_a_finding(
    opened: Callable[..., Watched], file: str
):
    snapshot = recorded(cases_in(file)[0])
    watched = opened(snapshot, reduced_motion="reduce")
    page = watched.page
    page.keyboard.press("w")
    count = int(stop_of(page, 1)[2])
    lines: list[int] = []
    for number in range(1, count + 1):
        found = stop_of(page, number)
        told = page.get_by_test_id("story").locator("[aria-current=step]")
        button = told.get_by_role("button", name=f"Stop {number}", exact=True)
        expect(button).to_be_visible()
        if found[4] is not None:
            expect(told.locator(".source")).to_contain_text(f":{found[4]}")
        if not SPREAD.match(found[6]):
            lines.append(int(found[4]))
        page.keyboard.press("ArrowRight")
    assert lines == chain(snapshot, snapshot.findings[0])
    stop_of(page, count)  # it ends there
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("story")).to_contain_text("Step by step")
    assert watched.errors == []


BORN_EARLY = case(
    "roots_of_negatives",
    """
    import torch
    weight = torch.tensor([1.0, -1.0], requires_grad=True)
    roots = torch.sqrt(weight)  # CULPRIT
    scaled = roots * 3
    loss = scaled.sum()
    loss.backward()
    """,
    "nan-negative-fractional-power",
)


@pytest.mark.parametrize(
    ("program", "way"),
    [
        (BORN_EARLY, ["spreads to", "reaches the loss", "comes to"]),
        (cases_in("numerics.gv401")[0], ["comes to"]),  # born in a gradient alone
    ],
)
def test_a_nan_is_told_from_its_birth_to_the_weights(
    opened: Callable[..., Watched], program: Case, way: list[str]
):
    page = opened(recorded(program)).page
    page.keyboard.press("w")
    first = stop_of(page, 1)
    assert first[5] == ", the cause"
    for number in range(2, int(first[2]) + 1):
        page.keyboard.press("ArrowDown")
        stop_of(page, number)
    story = page.get_by_test_id("story").inner_text()
    assert [words for words in SAID if words in story] == way


def test_what_made_no_node_is_drawn_as_a_ghost(
    opened: Callable[..., Watched], tmp_path: Path
):
    snapshot = recorded(cases_in("optimizers.gv610")[0])
    ghosts = [row for row, each in enumerate(snapshot.nodes) if NO_NODE in each.flags]
    assert ghosts
    page = opened(snapshot).page
    page.keyboard.press("w")
    stop_of(page, 1)
    expect(page.get_by_test_id("breadcrumb")).to_contain_text(
        snapshot.nodes[ghosts[0]].call
    )
    said = words(picture(page, tmp_path))
    assert snapshot.nodes[ghosts[0]].name in said
    assert NO_NODE in said
    assert "1" in said


@pytest.mark.parametrize("width", [1280, 400])
def test_axe_finds_nothing_in_a_story(opened: Callable[..., Watched], width: int):
    page = opened(recorded(cases_in("cuts.gv306")[0]), width=width).page
    page.keyboard.press("w")
    stop_of(page, 1)
    assert grave_in_light_and_dark(page) == []


def test_a_stop_stands_in_the_address(opened: Callable[..., Watched]):
    page = opened(recorded(cases_in("inplace.gv101")[0])).page
    page.keyboard.press("w")
    page.keyboard.press("w")
    stop_of(page, 2)
    page.wait_for_url(re.compile("story=2"))
    page.reload()
    stop_of(page, 2)


def test_why_of_a_parameter_is_told_beside_the_inspector(
    opened: Callable[..., Watched],
):
    snapshot = recorded(cases_in("cuts.gv306")[0])
    row, answer = next(
        (row, each)
        for row, each in enumerate(snapshot.answers)
        if each.kind == "parameter" and each.question == "none"
    )
    steps = [step for step in snapshot.answer_steps if step.answer == row]
    watched = opened(snapshot, reduced_motion="reduce")
    page = watched.page
    page.get_by_test_id("search").fill(answer.names[-1])
    page.keyboard.press("Enter")
    why = page.get_by_test_id("why")
    expect(why).to_contain_text(f"{answer.names[-1]} has no gradient.")
    why.get_by_role("button", name="Why?").press("Enter")
    told = page.get_by_test_id("answer")
    expect(told.get_by_role("listitem")).to_have_count(len(steps))
    page.keyboard.press("w")
    for number, step in enumerate(steps, 1):
        found = stop_of(page, number)
        where = line(snapshot, step.site)
        assert found[4] == (None if where is None else str(where[1]))
        assert bool(found[5]) == step.decision
        expect(page.get_by_role("tab", name="Inspector")).to_have_attribute(
            "aria-selected", "true"
        )
        page.keyboard.press("ArrowRight")
    assert grave_violations(page) == []
    for _ in ("what was searched for", "the story", "the answer"):
        page.keyboard.press("Escape")
    expect(told).to_have_count(0)
    assert watched.errors == []
