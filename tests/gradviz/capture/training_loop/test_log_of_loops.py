"""A log of a long loop: little is kept of each step, and the odd step is seen."""

from __future__ import annotations

import gc
import importlib
import sys
from itertools import pairwise
from typing import Any

import pytest

from gradviz._capture.open_log import open_log
from gradviz.diagnosis.diagnose import diagnose
from gradviz.program.events import Backward, Call, ModuleCall
from gradviz.program.noted import SWITCHES

_USUAL = 12  # steps after which a log knows the loop


def _log(lib: Any) -> Any:
    return open_log(lib.__name__, scan=False)


def _network(lib: Any) -> tuple[Any, Any, Any]:
    net = lib.nn.Sequential(lib.nn.Linear(3, 3), lib.nn.Tanh())
    optimizer = lib.optim.SGD(net.parameters(), lr=0.1)
    x = lib.ones(2, 3)

    def step(then: Any = None) -> Any:
        optimizer.zero_grad()
        hidden = net(x)
        loss = hidden.exp().sum()
        if then is not None:
            then(hidden)
        loss.backward()
        optimizer.step()
        return loss

    return net, step, x


def _last_pass(log: Any) -> Backward:
    return [each for each in log.program.events if isinstance(each, Backward)][-1]


def test_a_write_late_in_a_loop_is_found_before_the_pass(lib: Any) -> None:
    _, step, _ = _network(lib)
    with _log(lib) as log:
        for _ in range(_USUAL):
            step()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            step(lambda hidden: hidden.add_(1))
    event = _last_pass(log)
    assert [each.slot for each in event.stale] == ["_saved_result"]
    assert log.program.nodes[event.stale[0].node].name == "TanhBackward0"


def test_a_second_pass_late_in_a_loop_names_the_first(
    lib: Any,
) -> None:
    _, step, _ = _network(lib)
    with _log(lib) as log:
        loss = [step() for _ in range(_USUAL)][-1]
        first = _last_pass(log)
        with pytest.raises(RuntimeError, match="a second time"):
            loss.backward()
    event = _last_pass(log)
    assert set(event.freed) <= set(first.nodes)
    assert event.freed
    for key in event.freed:
        assert log.program.nodes[key].freed_by == first.index


def test_a_pass_that_fails_late_in_a_loop_has_rows_for_its_nodes(lib: Any) -> None:
    _, step, _ = _network(lib)

    def fail(gradient: Any) -> None:
        raise ZeroDivisionError

    with _log(lib) as log:
        for _ in range(_USUAL):
            step()
        with pytest.raises(ZeroDivisionError):
            step(lambda hidden: hidden.register_hook(fail))
    event = _last_pass(log)
    names = {log.program.nodes[key].name for key in event.nodes}
    assert {"TanhBackward0", "AddmmBackward0", "AccumulateGrad"} <= names


def test_another_graph_after_a_long_loop_is_read_in_full(lib: Any) -> None:
    _, step, x = _network(lib)
    with _log(lib) as log:
        for _ in range(_USUAL):
            step()
        w = lib.ones(3, requires_grad=True)
        (x * w).sin().sum().backward()
    rows = [log.program.nodes[key] for key in _last_pass(log).nodes]
    assert [row.name for row in rows] == [
        "SumBackward0",
        "SinBackward0",
        "MulBackward0",
        "AccumulateGrad",
    ]
    assert [saved.slot for saved in rows[2].saved] == ["_saved_self"]


def test_every_pass_of_a_loop_lists_its_nodes_and_leaves(lib: Any) -> None:
    net, step, _ = _network(lib)
    with _log(lib) as log:
        for _ in range(_USUAL):
            step()
    passes = [each for each in log.program.events if isinstance(each, Backward)]
    assert {each.node_count for each in passes} == {passes[0].node_count}
    assert {each.leaves for each in passes} == {passes[0].leaves}
    assert len(passes[0].leaves) == len(list(net.parameters()))
    assert len(set().union(*[each.nodes for each in passes])) > 3 * _USUAL


def test_the_collector_has_nothing_to_look_at_in_calls_nobody_read(lib: Any) -> None:
    _, step, _ = _network(lib)
    with _log(lib) as log:
        for _ in range(_USUAL):
            step()
        for _ in range(5):  # a tuple is let go of once all in it are
            gc.collect()
        short = [each for each in log.program.raw if isinstance(each, tuple)]
        kept = {each[0] for each in short if gc.is_tracked(each)}
        assert len(short) > _USUAL
        assert not kept & {"call", "module"}


def test_a_log_that_is_read_now_and_then_is_the_same_log(lib: Any) -> None:
    def ops(read: bool) -> list[str]:
        _, step, _ = _network(lib)
        with _log(lib) as log:
            for _ in range(_USUAL):
                step()
                if read:
                    assert log.program.events
        events = log.program.events
        assert [event.index for event in events] == list(range(len(events)))
        return [getattr(event, "op", type(event).__name__) for event in events]

    assert ops(read=True) == ops(read=False)


def test_what_one_call_gives_and_the_next_one_takes_is_one_value(lib: Any) -> None:
    with _log(lib) as log:
        y = lib.ones(2) + 1
        y.exp()
        lib.stack([y])
    _, add, exp, stack = [e for e in log.program.events if isinstance(e, Call)]
    assert exp.inputs[0] is add.outputs[0]
    assert exp.arguments[0] is add.outputs[0]
    assert stack.arguments == (stack.inputs,)


def test_a_module_call_read_before_it_ends_learns_of_its_end(
    lib: Any,
) -> None:
    with _log(lib) as log:

        class Curious(lib.nn.Module):
            def forward(self, x: Any) -> Any:
                y = x + 1
                (seen,) = [e for e in log.program.events if isinstance(e, ModuleCall)]
                assert seen.left is None
                return y + 1

        Curious()(lib.ones(2))
    (event,) = [e for e in log.program.events if isinstance(e, ModuleCall)]
    assert event.left == log.program.events[-1].index + 1


def test_memory_of_a_long_loop_is_bounded(
    lib: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("gradtape.log", "pytorch.log"):
        module = importlib.import_module(f"gradviz._capture.adapters.{name}")
        monkeypatch.setattr(module, "MOST_WITHOUT_VALUES", 200)
    _, step, _ = _network(lib)
    with _log(lib) as log:
        for _ in range(200):
            step()
            assert len(log.program.raw) <= 200
        assert len(log.program.left) <= 200
    events = log.program.events
    # The first step stays, as the model was made there; behind it are the last ones.
    gaps = [b.index - a.index for a, b in pairwise(events) if b.index != a.index + 1]
    assert events[0].index == 0
    assert len(gaps) == 1
    assert sys.getsizeof(log.program.nodes) < 100_000


def test_a_freeze_outlasts_a_long_loop(
    lib: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("gradtape.log", "pytorch.log"):
        module = importlib.import_module(f"gradviz._capture.adapters.{name}")
        monkeypatch.setattr(module, "MOST_WITHOUT_VALUES", 200)
    net, step, _ = _network(lib)
    with _log(lib) as log:
        step()
        net[0].weight.requires_grad_(False)
        for _ in range(200):
            step()
    switches = [e for e in log.program.events if getattr(e, "op", "") in SWITCHES]
    assert not switches[-1].outputs[0].requires_grad


def test_a_step_that_ran_its_closure_applies_new_gradients(lib: Any) -> None:
    net = lib.nn.Linear(3, 3)
    optimizer = lib.optim.SGD(net.parameters(), lr=0.1)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = net(lib.ones(2, 3)).sum()
        loss.backward()
        return loss

    with _log(lib) as log:
        for _ in range(3):
            optimizer.step(closure)
    assert [each.code for each in diagnose(log.program).findings] == []
