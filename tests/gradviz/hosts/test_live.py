"""Live views: what a feed sends, when, and how little time it takes."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import gradviz
from gradviz import ir, live
from gradviz.ir.validate import validate
from gradviz.live import Delta, LiveFeed, Progress, told


class Page:
    """A view that keeps what a page would have received."""

    def __init__(self) -> None:
        self.snapshots: list[ir.Snapshot] = []
        self.messages: list[tuple[dict[str, Any], list[bytes]]] = []
        self.progress: list[Any] = []

    def replace(self, snapshot: ir.Snapshot) -> int:
        self.snapshots.append(snapshot)
        return len(self.snapshots)

    def send_live(self, content: dict[str, Any], buffers: Sequence[bytes]) -> None:
        if "progress" in content:
            self.progress.append(content["progress"])
        else:
            self.messages.append((content["live"], list(buffers)))

    def numbers(self) -> dict[int, np.ndarray[Any, Any]]:
        """Rows of statistics by the last message, as the page reads them."""
        content, buffers = self.messages[-1]
        rows = np.frombuffer(buffers[0], "<u4")
        values = np.frombuffer(buffers[1], "<f4").reshape(len(rows), -1)
        assert content["rows"] == len(rows)
        return dict(zip(rows.tolist(), values, strict=True))


class Training:
    """Steps of one layer, recorded; the gradient of the weight is the factor."""

    def __init__(self, lib: Any) -> None:
        self.lib = lib
        self.recorder = gradviz.record(engine=lib.__name__)
        self.weight = lib.ones(1, requires_grad=True)
        self.optimizer = lib.optim.SGD([self.weight], lr=0.1)
        self.page = Page()

    def __enter__(self) -> Training:
        self.recorder.__enter__()
        self.feed = LiveFeed(self.page, self.recorder.source())
        return self

    def __exit__(self, *_: object) -> None:
        self.recorder.__exit__(None, None, None)

    def step(self, factor: float, more: int = 0) -> None:
        self.optimizer.zero_grad()
        loss = self.weight * factor
        for _ in range(more):
            loss = loss * 1
        loss.sum().backward()
        self.optimizer.step()


def gradient_row(snapshot: ir.Snapshot) -> int:
    (leaf,) = [node for node in snapshot.nodes if node.kind == "accumulate"]
    return leaf.grad_outputs[0]


def test_a_later_step_of_the_same_graph_is_sent_as_numbers_alone(lib: Any):
    with Training(lib) as training:
        training.step(2)
        training.feed.look()
        (snapshot,) = training.page.snapshots
        validate(snapshot)
        assert len(snapshot.nodes) == 3
        row = gradient_row(snapshot)
        assert snapshot.statistics[row].norm == 2
        for factor in (3, 5):
            training.step(factor)
            training.feed.look()
            norm = training.page.numbers()[row][live.STATISTICS.index("norm")]
            assert norm == factor
        assert len(training.page.snapshots) == 1
        assert [message["number"] for message, _ in training.page.messages] == [1, 2]
        assert {message["revision"] for message, _ in training.page.messages} == {1}


def test_every_delta_stands_for_itself(lib: Any):
    with Training(lib) as training:
        training.step(2)
        training.feed.look()
        (snapshot,) = training.page.snapshots
        known = {
            row for node in snapshot.nodes for row in node.grad_outputs if row >= 0
        }
        training.step(3)
        training.feed.look()
        training.step(4)
        training.feed.look()
        assert set(training.page.numbers()) >= known


def test_nothing_is_sent_while_nothing_happens(lib: Any):
    with Training(lib) as training:
        assert training.feed.look() == live.PERIOD_S
        assert training.page.snapshots == []
        training.step(2)
        for _ in range(5):
            training.feed.look()
        assert (len(training.page.snapshots), training.page.messages) == (1, [])


def test_another_graph_is_sent_whole(lib: Any):
    with Training(lib) as training:
        training.step(2)
        training.feed.look()
        training.step(2, more=3)
        training.feed.look()
        counts = [len(snapshot.nodes) for snapshot in training.page.snapshots]
        assert counts == [3, 6]
        training.step(7, more=3)
        training.feed.look()
        row = gradient_row(training.page.snapshots[1])
        assert training.page.numbers()[row][0] == 7


def test_before_the_first_pass_the_graph_grows(lib: Any):
    with Training(lib) as training:
        loss = training.weight * 2
        training.feed.look()
        loss = loss + 1
        training.feed.look()
        loss.sum().backward()
        training.feed.look()
        snapshots = training.page.snapshots
        # PyTorch's nodes are read by the pass, and not by another thread before it.
        grown = [2, 3, 4] if lib.__name__ == "gradtape" else [4]
        assert [len(each.nodes) for each in snapshots] == grown
        assert snapshots[-1].statistics[gradient_row(snapshots[-1])].norm == 2


def test_a_look_within_the_first_pass_sees_what_there_is(lib: Any):
    with Training(lib) as training:

        def look(_: object) -> None:
            training.feed.look()

        training.weight.register_hook(look)
        training.step(2)
        training.step(3)
        training.feed.look()
        last = training.page.snapshots[-1]
        assert training.page.numbers()[gradient_row(last)][0] == 3


def test_the_flow_of_the_steps_in_between_is_not_lost(lib: Any):
    with Training(lib) as training:
        training.step(2)
        training.feed.look()
        for factor in (3, 4, 5):
            training.step(factor)
        training.feed.look()
    content, buffers = training.page.messages[-1]
    flow = content["flow"]
    assert flow["numbers"] == [0, 1, 2, 3]
    points = np.frombuffer(buffers[2], "<f4").reshape(4, 1, len(live.FLOW_NUMBERS))
    assert points[:, 0, 0].tolist() == [2, 3, 4, 5]
    histogram = np.frombuffer(buffers[3], "<f4").reshape(1, -1)
    assert histogram[0, 2:].sum() == 1  # one element, in one bin
    assert histogram[0, 0] < 5 < histogram[0, 1]


def test_what_is_not_finite_is_counted(lib: Any):
    with Training(lib) as training:
        training.step(2)
        training.feed.look()
        training.step(float("inf"))
        training.feed.look()
        numbers = training.page.numbers()[gradient_row(training.page.snapshots[0])]
        facts = dict(zip(live.STATISTICS, numbers.tolist(), strict=True))
        assert (facts["infs"], facts["nans"]) == (1, 0)
        assert np.isnan(facts["norm"])


def test_a_feed_pauses_in_proportion_to_what_it_cost():
    clock = iter([0.0, 9.0, 9.0, 9.3, 9.3, 9.4]).__next__
    load = iter([1.0, 0.5]).__next__
    feed = LiveFeed(Page(), Script([1, 2, 3]), clock=clock, load=load)
    assert feed.look() == live.FIRST_PAUSE_S  # most of that is never done again
    assert feed.look() == pytest.approx(0.3 / live.SHARE)
    assert feed.look() == pytest.approx(0.1 / live.SHARE / 0.5)  # half as much runs


def test_the_load_of_a_process_that_waits_is_the_least():
    load = live.Load()
    threading.Event().wait(0.05)
    assert load() == live.LEAST_LOAD


def test_a_feed_pauses_in_proportion_to_what_it_sent():
    feed = LiveFeed(Page(), Script([1, 2], rows=1_000_000), clock=lambda: 0.0)
    assert feed.look() == live.FIRST_PAUSE_S
    assert feed.look() == pytest.approx(36_000_000 / live.BYTES_PER_S)


def test_a_feed_that_fails_looks_again_and_in_the_end_gives_up():
    class Broken(Script):
        def full(self) -> ir.Snapshot:
            raise RuntimeError("dictionary changed size during iteration")

    feed = LiveFeed(Page(), Broken([1]), delay=0)
    feed.start()
    feed.join(20)
    assert len(feed.sent.failures) == live.MOST_FAILURES


def test_closing_ends_the_thread_of_a_feed():
    page = Page()
    source = Script([1])
    feed = LiveFeed(page, source, delay=0)
    feed.start()
    assert source.looked.wait(20)
    feed.close()
    assert not any(thread.name == "gradviz-live" for thread in threading.enumerate())
    assert len(page.snapshots) == 1


class Script:
    """A source that plays some versions, and then stays at the last."""

    def __init__(self, versions: list[int], rows: int = 0) -> None:
        self.versions = versions
        self.rows = rows
        self.looked = threading.Event()

    def version(self) -> int:
        if len(self.versions) > 1:
            return self.versions.pop(0)
        return self.versions[0]

    def full(self) -> ir.Snapshot:
        self.looked.set()
        return ir.Snapshot("test")

    def delta(self) -> Delta | None:
        rows = np.zeros(self.rows, np.uint32)
        return Delta(0, rows, np.zeros((self.rows, len(live.STATISTICS)), np.float32))

    def progress(self) -> Progress | None:
        return None


# ---- progress -----------------------------------------------------------------------


def test_every_look_tells_the_step_and_its_loss_however_briefly_it_was_looked_at(
    lib: Any,
):
    page = Page()
    weight = lib.ones(1, requires_grad=True)
    recorder = gradviz.record(engine=lib.__name__, budget=1.0)
    with recorder:
        feed = LiveFeed(page, recorder.source())
        for step in range(1, 41):
            loss = (weight * float(step)).sum()
            loss.backward()
            if step % 10 == 0:
                feed.look()
    # No step after the first ones was looked at in full, and none stands still.
    assert [each["steps"] for each in page.progress] == [10, 20, 30, 40]
    assert [each["loss"] for each in page.progress] == ["10.0", "20.0", "30.0", "40.0"]


def test_asking_for_a_loss_is_no_event_of_the_program(lib: Any):
    def events(followed: bool) -> list[str]:
        weight = lib.ones(1, requires_grad=True)
        with gradviz.record(engine=lib.__name__) as recorder:
            source = recorder.source() if followed else None
            (weight * 2.0).sum().backward()
            if source is not None:
                source.version()
                assert source.progress() == Progress(1, 2.0)
        return [each.kind for each in recorder.snapshot().events]

    assert events(followed=True) == events(followed=False)


def test_a_loss_that_is_not_finite_can_be_sent():
    assert told(Progress(3, float("nan"))) == {"steps": 3, "loss": "nan"}
    assert told(Progress(3)) == {"steps": 3, "loss": None}
