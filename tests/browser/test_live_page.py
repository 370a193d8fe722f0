"""What a page holds after a thousand updates is what the kernel has then, number by
number: read back from the recording that the page saves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

import gradviz
from gradviz import ir
from gradviz.live import STATISTICS, LiveFeed
from tests.browser.conftest import PATIENCE_MS, Watched
from tests.browser.live_page import LivePage
from tests.browser.test_export import save

pytestmark = pytest.mark.slow

expect.set_options(timeout=PATIENCE_MS)

UPDATES = 1_000
AT_ONCE = 20  # before the view draws: a frame takes longer than a step of a small model


def numbers(snapshot: ir.Snapshot) -> list[list[float]]:
    """All statistics of the graph, in the order of what they are about."""
    rows = [row for node in snapshot.nodes for row in node.grad_outputs]
    rows += [edge.gradient for edge in snapshot.edges if edge.gradient is not None]
    rows += [
        each.statistics for each in snapshot.tensors if each.statistics is not None
    ]
    return [
        [
            float(np.float32(getattr(snapshot.statistics[row], name) or 0))
            for name in STATISTICS
        ]
        for row in rows
        if row >= 0
    ]


def flow(snapshot: ir.Snapshot) -> list[tuple[Any, ...]]:
    """Every gradient of every step, and whether the optimizer used it."""
    steps = snapshot.flow_steps
    return [
        (
            steps[point.step].number,
            steps[point.step].stepped,
            point.layer,
            float(np.float32(point.norm or 0)),
            float(np.float32(point.largest or 0)),
            point.zeros,
            point.nans,
            point.infs,
        )
        for point in snapshot.flow
    ]


def test_after_a_thousand_updates_the_page_has_the_last_state(
    new_page: Callable[..., Watched], tmp_path: Path
):
    import gradtape as torch

    watched = new_page(height=1200)
    torch.manual_seed(1)
    layers = [torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)]
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs, wanted = torch.randn(8, 4), torch.randn(8, 1)
    with gradviz.record(engine="gradtape", findings=False) as recorder:
        source = recorder.source()
        page = LivePage(watched.page, tmp_path, at_once=AT_ONCE)
        feed = LiveFeed(page, source)
        for _ in range(1 + UPDATES):
            optimizer.zero_grad()
            (model(inputs) - wanted).square().mean().backward()
            optimizer.step()
            feed.look()
        page.flush()
        last = source.full()
    assert (feed.sent.snapshots, feed.sent.deltas) == (1, UPDATES)
    watched.page.get_by_role("tab", name="Gradient flow").click()
    counts = watched.page.get_by_test_id("flow-counts")
    expect(counts).to_have_text(f"4 parameters, {1 + UPDATES:,} steps.")
    held = gradviz.load(save(watched.page, "Recording (JSON)", tmp_path))
    assert [node.name for node in held.nodes] == [node.name for node in last.nodes]
    assert len(numbers(held)) > len(held.nodes)
    assert numbers(held) == numbers(last)
    assert len(flow(held)) == 4 * (1 + UPDATES)
    assert flow(held)[:-4] == flow(last)[:-4]
    # Whether the optimizer has stepped since is told with the next step.
    assert [row[2:] for row in flow(held)[-4:]] == [row[2:] for row in flow(last)[-4:]]
    assert watched.errors == []
