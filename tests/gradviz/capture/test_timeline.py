"""What a recording says of the order of things, for both engines."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import gradviz
from gradviz._capture.recorder import gradient_flow as _flow
from gradviz.ir.validate import validate


def recorded(lib: Any, program: Any, **options: Any) -> Any:
    engine = lib.__name__
    with gradviz.record(engine=engine, **options) as recorder:
        program()
    snapshot = recorder.snapshot()
    validate(snapshot)
    return snapshot


def norm(snapshot: Any, row: int | None) -> float | None:
    return None if row is None else snapshot.statistics[row].norm


def training(lib: Any, steps: int, *, clears: bool = True) -> Any:
    """A layer of one weight whose gradient is 2 at every pass; nothing random."""
    weight = lib.ones(1, requires_grad=True)
    optimizer = lib.optim.SGD([weight], lr=0.5)

    def run() -> None:
        for _ in range(steps):
            if clears:
                optimizer.zero_grad()
            (weight * 2).sum().backward()
            optimizer.step()

    return run


def test_events_come_in_the_order_of_the_program(lib: Any):
    snapshot = recorded(lib, training(lib, 2))
    kinds = [event.kind for event in snapshot.events]
    shown = [kind for kind, _ in itertools.groupby(k for k in kinds if k != "write")]
    step = ["op", "backward_begin", *["node_enter", "node_leave"] * 2]
    step += ["accumulate", "backward_end", "optimizer_step"]
    assert [kind for kind in shown if kind != "grad_mode"] == step * 2
    times = [event.time_ns for event in snapshot.events]
    assert times == sorted(times)


def test_only_the_operations_of_the_user_are_events(lib: Any):
    snapshot = recorded(lib, training(lib, 1))
    ops = [event.text for event in snapshot.events if event.kind == "op"]
    assert ops == ["mul", "sum"]


def test_a_write_says_which_version_it_made(lib: Any):
    def run() -> None:
        x = lib.ones(3, requires_grad=True) * 1
        x.add_(1)
        x.mul_(2)

    snapshot = recorded(lib, run)
    writes = [event for event in snapshot.events if event.kind == "write"]
    assert [(event.text, event.version) for event in writes] == [
        ("add_", 1),
        ("mul_", 2),
    ]
    assert len({event.storage for event in writes}) == 1
    assert all(snapshot.sites[event.site].file == __file__ for event in writes)


def test_sums_in_grad_are_told_apart_from_first_gradients(lib: Any):
    snapshot = recorded(lib, training(lib, 3, clears=False))
    taken = [event for event in snapshot.events if event.kind == "accumulate"]
    assert [norm(snapshot, event.statistics) for event in taken] == [2, 2, 2]
    assert [norm(snapshot, event.grad) for event in taken] == [None, 4, 6]


def test_each_pass_keeps_the_gradient_that_it_brought(lib: Any):
    weight = lib.ones(1, requires_grad=True)

    def run() -> None:
        for factor in (2, 5):
            (weight * factor).sum().backward()
            weight.grad = None

    snapshot = recorded(lib, run)
    taken = [event for event in snapshot.events if event.kind == "accumulate"]
    assert [norm(snapshot, event.statistics) for event in taken] == [2, 5]


def test_flow_tables_hold_every_pass_of_a_loop_even_forgotten_ones(lib: Any):
    snapshot = recorded(lib, training(lib, 12), steps=2)
    (layer,) = snapshot.flow_layers
    assert layer.count == 1
    assert snapshot.nodes[layer.node].kind == "accumulate"
    assert [step.number for step in snapshot.flow_steps] == list(range(12))
    assert all(step.stepped for step in snapshot.flow_steps)
    assert [(p.step, p.layer, p.norm) for p in snapshot.flow] == [
        (step, 0, 2.0) for step in range(12)
    ]
    full = [point.gradient is not None for point in snapshot.flow]
    assert full == [False] * 4 + [True] * 8


def test_flow_counts_what_is_not_finite(lib: Any):
    weight = lib.zeros(2, requires_grad=True)
    snapshot = recorded(lib, lambda: (weight * float("inf")).sum().backward())
    (point,) = snapshot.flow
    assert (point.infs, point.nans, point.norm) == (2, 0, None)


def test_without_a_backward_pass_there_is_no_flow(lib: Any):
    weight = lib.ones(2, requires_grad=True)
    snapshot = recorded(lib, lambda: weight * 2)
    assert (snapshot.flow_layers, snapshot.flow_steps, snapshot.flow) == ((), (), ())


def test_old_points_make_room_and_all_of_a_run_stays_in_sight(
    lib: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(_flow, "KEPT_FLOW_POINTS", 16)
    snapshot = recorded(lib, training(lib, 50))
    numbers = [step.number for step in snapshot.flow_steps]
    assert numbers == [0, 8, 16, 24, 32, 40, *range(42, 50)]
    assert len(snapshot.flow) == len(numbers)
    assert any("1 in 8 steps" in note for note in snapshot.notes)
