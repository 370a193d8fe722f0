"""A view that follows a watched training while its cell runs."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import Any

import gradtape
import gradviz
from gradviz import ir
from gradviz.live import LiveFeed
from gradviz.watching.handle import WatchSource
from tests.gradviz.hosts.notebooks import notebook_shell


class Page:
    """A view that keeps what a page would have received."""

    def __init__(self) -> None:
        self.snapshots: list[ir.Snapshot] = []

    def replace(self, snapshot: ir.Snapshot) -> int:
        self.snapshots.append(snapshot)
        return len(self.snapshots)

    def send_live(self, content: dict[str, Any], buffers: Sequence[bytes]) -> None:
        raise AssertionError("a history is sent as a whole")


def test_a_feed_sends_the_history_as_it_grows():
    net = gradtape.nn.Linear(2, 1)
    optimizer = gradtape.optim.SGD(net.parameters(), lr=0.1)
    seen = gradviz.watch(net, optimizer, every=2, page=None)
    page = Page()
    source = WatchSource(seen._count_looks, seen.snapshot)
    feed = LiveFeed(page, source)
    feed.look()
    for _ in range(5):
        net(gradtape.ones(3, 2)).sum().backward()
        optimizer.step()
        feed.look()
    assert [len(each.flow_steps) for each in page.snapshots] == [1, 2, 3]
    seen.close()
    del seen
    gc.collect()
    assert source.version() == 0, "the view does not keep the watch"
    assert source.full() == page.snapshots[-1]


CELL = """
import gradtape as torch, gradviz
net = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
seen = gradviz.watch(net, every=1, title="my training")
seen.show()
for _ in range(4):
    net(torch.ones(3, 2)).sum().backward()
    optimizer.step()
seen.close()
"""


def test_in_a_notebook_the_view_ends_with_the_last_state():
    with notebook_shell() as cells:
        cells.run(CELL)
        shown = cells.shown[-1]
    snapshot = shown["application/vnd.gradviz+json"]
    assert snapshot["title"] == "my training"
    assert [step["number"] for step in snapshot["flow_steps"]] == [0, 1, 2, 3]
