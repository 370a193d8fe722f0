"""The program log of gradtape leaves a run as it is: results, memory, names."""

from __future__ import annotations

import gc
import sys
import threading
import traceback
import warnings
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from itertools import pairwise
from typing import Any

import pytest

import gradtape as torch
from gradtape import nn
from gradtape.nn import functional as F
from gradviz._capture.adapters.gradtape import log as gradtape_log
from gradviz._capture.adapters.gradtape.log import GradtapeLog
from gradviz.program.events import Backward, Call, Raised

SCANS = pytest.mark.parametrize("scan", [True, False])


def train(steps: int) -> tuple[Any, list[float]]:
    """Train a small network with everything that has a state of its own."""
    torch.manual_seed(0)
    net = nn.Sequential(
        *(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(inplace=True)),
        *(nn.Dropout(0.2), nn.Linear(8, 3)),
    )
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    losses: list[float] = []
    for _ in range(steps):
        x, y = torch.randn(6, 4), torch.randint(0, 3, (6,))
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return net, losses


@SCANS
def test_results_are_the_same_to_the_last_bit(scan: bool) -> None:
    found = []
    for log in (nullcontext(), GradtapeLog(scan=scan)):
        with log:
            net, losses = train(5)
        grads = [p.grad.numpy().tobytes() for p in net.parameters()]
        found.append(
            (losses, grads, [p.detach().numpy().tobytes() for p in net.parameters()])
        )
    assert found[0] == found[1]


def test_second_derivatives_are_the_same() -> None:
    def run() -> list[Any]:
        x = torch.tensor([0.3, 0.7], requires_grad=True)
        (g,) = torch.autograd.grad((x.sin() * x).sum(), x, create_graph=True)
        g.pow(2).sum().backward()
        return [g.tolist(), x.grad.tolist()]

    plain = run()
    with GradtapeLog() as log:
        assert run() == plain
    assert log.program.notes == []


def test_functions_are_put_back() -> None:
    owners = (torch, torch.Tensor, F, torch.autograd, nn.Parameter, torch.no_grad)
    before = [dict(vars(owner)) for owner in owners]
    with GradtapeLog():
        assert torch.add is not before[0]["add"]
    assert [dict(vars(owner)) for owner in owners] == before


def test_functions_are_put_back_where_opening_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise LookupError

    monkeypatch.setattr(gradtape_log.Passes, "install", fail)
    before = torch.add
    with pytest.raises(LookupError):
        GradtapeLog().__enter__()
    assert torch.add is before


def test_the_log_keeps_no_tensor_alive() -> None:
    with GradtapeLog() as log:
        x = torch.ones(3, requires_grad=True)
        y = x.exp()
        loss = (y * y).sum()
        alive = [weakref.ref(each) for each in (y, loss)]
        nodes = [weakref.ref(each.grad_fn) for each in (y, loss)]
        arrays = [weakref.ref(each._data) for each in (y,)]
        loss.backward()
        del y, loss
        gc.collect()
        assert [ref() for ref in (*alive, *nodes, *arrays)] == [None] * 5
    assert len(log.program.nodes) == 4


def test_a_failing_pass_keeps_no_tensor_alive() -> None:
    def run() -> list[Any]:
        y = torch.ones(2, requires_grad=True).exp()
        y += 1
        alive = [weakref.ref(y), weakref.ref(y.grad_fn)]
        with pytest.raises(RuntimeError):
            y.sum().backward()
        return alive

    with GradtapeLog():
        alive = run()
        gc.collect()
        assert [ref() for ref in alive] == [None, None]


@SCANS
def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch, scan: bool) -> None:
    monkeypatch.setattr(gradtape_log, "MOST_WITHOUT_VALUES", 200)
    monkeypatch.setattr(gradtape_log, "MAX_EVENTS", 400)
    with GradtapeLog(scan=scan) as log:
        train(60)
    program = log.program
    assert len(program.events) <= 200
    indexes = [event.index for event in program.events]
    gaps = [after - before for before, after in pairwise(indexes) if after - before > 1]
    assert indexes[0] == 0  # the first step stays, and the last ones
    assert len(gaps) == 1
    assert len(program.nodes) < 200


def test_without_values_a_pass_still_knows_its_calls() -> None:
    with GradtapeLog(scan=False) as log:
        x = torch.ones(2, requires_grad=True)
        y = x.exp()
        y += 1
        with pytest.raises(RuntimeError):
            y.sum().backward()
    program = log.program
    (passed,) = [event for event in program.events if isinstance(event, Backward)]
    made = {e.index: e.op for e in program.events if isinstance(e, Call)}
    rows = [program.nodes[key] for key in passed.nodes if key > 0]
    assert [made[row.call or 0] for row in rows] == ["sum", "add_", "exp"]
    assert [stale.slot for stale in passed.stale] == ["_saved_result"]
    assert passed.runs == []


def test_warnings_name_the_line_of_the_program() -> None:
    x = torch.ones(2, requires_grad=True) * 2
    with warnings.catch_warnings(record=True) as caught, GradtapeLog():
        warnings.simplefilter("always")
        assert x.grad is None
        torch.tensor(x)
        torch.ones(1).std()
    assert [each.filename for each in caught] == [__file__] * len(caught)
    assert len(caught) == 3


def test_a_failing_part_is_noted_and_the_program_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise LookupError("no such thing")

    with GradtapeLog() as log:
        monkeypatch.setattr(log.reader, "look", fail)
        x = torch.ones(2, requires_grad=True)
        (x * 3).sum().backward()
        monkeypatch.undo()
    assert x.grad is not None
    assert x.grad.tolist() == [3.0, 3.0]
    assert any("LookupError: no such thing" in note for note in log.program.notes)


def test_what_ends_the_block_is_logged_with_its_line() -> None:
    log = GradtapeLog()
    with pytest.raises(ZeroDivisionError) as caught, log:
        raise ZeroDivisionError("mine")
    raised = log.program.events[-1]
    assert isinstance(raised, Raised)
    assert (raised.kind, raised.text) == ("ZeroDivisionError", "mine")
    assert raised.site is not None
    assert raised.site[0].co_filename == __file__
    assert len(traceback.extract_tb(caught.value.__traceback__)) == 1


def in_threads(*work: Callable[[], None]) -> None:
    """Run functions side by side; raise what the first of them raised."""
    raised: list[BaseException] = []

    def run(each: Callable[[], None]) -> None:
        try:
            each()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(each,), daemon=True) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for error in raised:
        raise error


def test_threads_are_logged_side_by_side() -> None:
    all_there = threading.Barrier(3)  # the number of a thread that ended is used again

    def work() -> None:
        all_there.wait(60)
        for _ in range(50):
            (torch.ones(3, requires_grad=True) * 2).sum().backward()
        all_there.wait(60)

    often = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with GradtapeLog() as log:
            in_threads(work, work, work)
    finally:
        sys.setswitchinterval(often)
    events = log.program.events
    assert [event.index for event in events] == list(range(len(events)))
    assert len([event for event in events if isinstance(event, Backward)]) == 150
    assert len({event.thread for event in events}) == 3


def test_passes_of_two_threads_keep_their_nodes_apart() -> None:
    first_runs, second_runs, first_is_over = (threading.Event() for _ in range(3))

    def wait(first: threading.Event, then: threading.Event) -> Callable[[Any], None]:
        def hook(_: Any) -> None:
            first.set()
            assert then.wait(60)

        return hook

    def first() -> None:
        x = torch.ones(3, requires_grad=True) * 2
        x.register_hook(wait(first_runs, second_runs))
        x.sum().backward()
        first_is_over.set()

    def second() -> None:
        assert first_runs.wait(60)
        x = torch.ones(3, requires_grad=True) + 2
        x.register_hook(wait(second_runs, first_is_over))
        x.sum().backward()

    with GradtapeLog() as log:
        in_threads(first, second)
    passes = [each for each in log.program.events if isinstance(each, Backward)]
    assert len(passes) == 2
    for each in passes:
        ran = [run.node for run in each.runs]
        assert ran == [*each.nodes]
        assert [leaf for leaf, _ in each.at_leaves()] == [ran[-1]]


def test_passes_deep_in_one_another_keep_their_nodes() -> None:
    def nested(depth: int) -> Callable[[Any], Any]:
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                if depth:
                    with torch.enable_grad():
                        y = torch.ones(2, requires_grad=True)
                        nested(depth - 1)(y).sum().backward()
                return grad * 2

        return Twice.apply

    with GradtapeLog() as log:  # the engine takes a new thread at each 20th
        nested(45)(torch.ones(2, requires_grad=True)).sum().backward()
    passes = [each for each in log.program.events if isinstance(each, Backward)]
    assert [len(each.runs) for each in passes] == [3] * 46


def test_a_function_held_since_before_is_seen_where_values_are() -> None:
    exp: Callable[..., Any] = torch.exp
    with GradtapeLog() as log:
        exp(torch.ones(2))
    assert [e.op for e in log.program.events if isinstance(e, Call)] == ["ones", "exp"]


def test_two_logs_follow_one_another() -> None:
    for _ in range(2):
        with GradtapeLog() as log:
            torch.ones(2)
        assert len(log.program.events) == 1


def test_types_and_defaults_stay_what_they_are() -> None:
    with GradtapeLog(), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.ones(2).type(torch.IntTensor).dtype is torch.int32
        assert isinstance(torch.ones(1), torch.FloatTensor)
        layer = nn.TransformerEncoderLayer(8, 2, 16)
        assert layer.activation_relu_or_gelu == 1
