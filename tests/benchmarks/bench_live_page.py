"""Measure what a page keeps of a live view, and how long an update takes it.

    python -m tests.benchmarks.bench_live_page [--updates N] [--nodes N]

A recorded step of a training on gradtape, whose gradients grow with the number of the
step, makes the updates of a page in Chromium, with no kernel between. Prints the heap
of the page after garbage was collected, the elements and listeners that it has, and the
script time of an update, once with the inspector open and once with the charts of the
gradient flow. A view keeps a row of the flow for each step, 0.15 kB. The browser
compiles nothing: machine code is on the heap too, and grows for thousands of updates,
though it is no state. So the script times are those of an interpreter. Exits with 1
where the heap grows by a twentieth, or where the last state is not that of the last
step.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from playwright.sync_api import CDPSession, Page, sync_playwright

import gradtape
import gradviz
from gradviz import ir
from gradviz.live import FLOW_POINTS, STATISTICS, Delta, LiveFeed, Source
from tests.benchmarks.bench_live import training
from tests.browser.conftest import FLAGS
from tests.browser.live_page import LivePage

CHROMIUM = "/usr/bin/chromium"
KEPT = 1.05  # heap at the end, to that after the warm-up
INTERPRETED = "--js-flags=--no-opt --no-maglev --no-sparkplug --regexp-interpret-all"
SHARES = 0.1, 0.5, 1.0  # of the updates, after which the heap is measured
FACTS = "JSHeapUsedSize", "Nodes", "JSEventListeners"


class Steps:
    """A source that goes on from a recorded step: in step n all is n times as large."""

    def __init__(self, recorded: Source) -> None:
        self.number = 1
        assert recorded.version() > 0, "the step is not over"
        self._snapshot = recorded.full()
        delta = recorded.delta()
        assert delta is not None
        assert delta.flow is not None
        self._delta, self._flow = delta, delta.flow
        counts = [name in ("zeros", "nans", "infs") for name in STATISTICS]
        self._grows = ~np.array(counts)
        self._points = delta.flow.points[-1:]

    def version(self) -> int:
        return self.number

    def full(self) -> ir.Snapshot:
        return self._snapshot

    def delta(self) -> Delta:
        last = np.arange(max(1, self.number - FLOW_POINTS + 1), self.number + 1)
        points = np.repeat(self._points, len(last), axis=0)
        points[:, :, :2] *= last[:, None, None]  # norm and largest
        numbers = last.tolist()
        flow = replace(
            self._flow,
            numbers=numbers,
            times_ns=[1_000_000 * number for number in numbers],
            stepped=[True] * len(numbers),
            points=points,
        )
        values = np.where(
            self._grows, self._delta.values * self.number, self._delta.values
        )
        return replace(self._delta, values=values.astype(np.float32), flow=flow)


def facts(session: CDPSession) -> dict[str, float]:
    """Return the figures of a page after garbage was collected, and its script time."""
    for _ in range(2):  # what a finalizer frees goes with the second
        session.send("HeapProfiler.collectGarbage")
    metrics = session.send("Performance.getMetrics")["metrics"]
    return {each["name"]: each["value"] for each in metrics}


def follow(page: Page, folder: Path, tab: str, updates: int, nodes: int) -> bool:
    """Print one row per measurement; return whether all is as it should be."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    step = training(gradtape, nodes)
    with gradviz.record(engine="gradtape", findings=False) as recorder:
        step(1)
    source = Steps(recorder.source())
    feed = LiveFeed(LivePage(page, folder), source)
    feed.look()
    page.get_by_test_id("box-count").wait_for()
    page.get_by_role("tab", name=tab, exact=True).click()
    found: list[dict[str, float]] = []
    for number in range(2, updates + 1):
        source.number = number
        feed.look()
        if number not in [round(share * updates) for share in SHARES]:
            continue
        now = facts(session)
        found.append(now)
        heap, elements, listeners = (now[each] for each in FACTS)
        script = 1000 * now["ScriptDuration"] / number
        print(
            f"| {tab} | {number} | {heap / 1e6:.1f} MB | {elements:.0f} "
            f"| {listeners:.0f} | {script:.1f} ms |",
            flush=True,
        )
    page.get_by_role("tab", name="Inspector", exact=True).click()
    leaves = page.get_by_test_id("section-leaves").get_by_role("row").nth(1)
    norm = float(leaves.get_by_role("cell").nth(1).inner_text().replace(",", ""))
    is_right = abs(norm - 16 * updates) <= 0.001 * norm  # the root of 256 elements
    growth = found[-1][FACTS[0]] / found[0][FACTS[0]]
    print(f"grew to {growth:.3f}; the last state is {'right' if is_right else 'WRONG'}")
    return is_right and growth <= KEPT


def main() -> int:
    """Follow a training with each of two tabs; return 1 where a figure is too large."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=1000)
    parser.add_argument("--nodes", type=int, default=1000)
    options = parser.parse_args()
    print("| tab | updates | heap | elements | listeners | script of an update |")
    print("|---|---|---|---|---|---|")
    is_good = True
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=[*FLAGS, INTERPRETED]
        )
        for tab in ("Inspector", "Gradient flow"):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            nodes, updates = options.nodes, options.updates
            is_good &= follow(page, Path(folder), tab, updates, nodes)
            page.close()
        browser.close()
    return int(not is_good)


if __name__ == "__main__":
    raise SystemExit(main())
