"""What the program log says about schedulers, scalers and steps that pass it by."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from gradviz._capture.open_log import Engine, open_log
from gradviz.program.events import Backward, Call, OptimizerCall, ScalerCall
from gradviz.program.events import ScheduleCall as Schedule
from gradviz.program.history import History


def turn(lib: Any, net: Any, opt: Any, scaler: Any = None) -> None:
    opt.zero_grad()
    loss = net(lib.ones(2, 2)).sum()
    (loss if scaler is None else scaler.scale(loss)).backward()
    (opt.step if scaler is None else lambda: scaler.step(opt))()


def test_a_scheduler_made_before_the_log_hides_no_step(engine: Engine) -> None:
    lib = importlib.import_module(engine)
    net = lib.nn.Linear(2, 1)
    opt = lib.optim.SGD(net.parameters(), lr=0.1)
    scheduler = lib.optim.lr_scheduler.StepLR(opt, 1)
    with open_log(engine) as log:
        for _ in range(2):
            turn(lib, net, opt)
            scheduler.step()
    steps = [e.what for e in log.program.events if isinstance(e, OptimizerCall)]
    assert steps == ["zero_grad", "step"] * 2
    writes = [e for e in log.program.events if isinstance(e, Call) and e.writes]
    assert [each.op for each in writes] == ["step", "step"]
    rates = [e.rates for e in log.program.events if isinstance(e, Schedule)]
    assert rates == [(pytest.approx(0.01),), (pytest.approx(0.001),)]


def test_such_a_step_may_run_passes_or_raise(engine: Engine) -> None:
    lib = importlib.import_module(engine)
    x = lib.ones(2, requires_grad=True)
    opt = lib.optim.LBFGS([x], max_iter=2)
    lib.optim.lr_scheduler.StepLR(opt, 1)

    def closure() -> Any:
        opt.zero_grad()
        loss = (x - 3).pow(2).sum()
        loss.backward()
        return loss

    def broken() -> Any:
        raise ValueError("no batch")

    with open_log(engine) as log:
        opt.step(closure)
        passes = sum(isinstance(e, Backward) for e in log.program.events)
        with pytest.raises(ValueError, match="no batch"):
            opt.step(broken)
        (x * 2).sum().backward()
    assert passes >= 1
    assert sum(isinstance(e, Backward) for e in log.program.events) == passes + 1


def test_schedulers_and_scalers_say_what_they_did(engine: Engine) -> None:
    lib = importlib.import_module(engine)
    net = lib.nn.Linear(2, 1)
    opt = lib.optim.SGD(net.parameters(), lr=0.1)
    schedules = lib.optim.lr_scheduler
    before = vars(schedules.StepLR).get("step"), schedules.LRScheduler.__init__
    scaling = lib.amp.GradScaler.scale
    with open_log(engine) as log:
        parts = [schedules.LinearLR(opt), schedules.ExponentialLR(opt, 0.5)]
        both = schedules.SequentialLR(opt, parts, milestones=[1])
        scaler = lib.amp.GradScaler("cpu", init_scale=4.0)
        turn(lib, net, opt, scaler)
        both.step()
        lib.amp.GradScaler("cpu", enabled=False).scale(net.weight)
    history = History(log.program)
    made = history.of(Schedule)
    assert [(e.what, e.kind, e.scheduler) for e in made] == [
        ("init", "LinearLR", 1),
        ("init", "ExponentialLR", 2),
        ("init", "SequentialLR", 3),
        ("step", "SequentialLR", 3),
    ]
    assert history.text(made[-1].site) == "both.step()"
    assert {each.optimizer for each in made} == {1}
    assert [(e.what, e.scale, e.optimizer) for e in history.of(ScalerCall)] == [
        ("scale", 4.0, None),
        ("step", None, 1),
        ("unscale", None, 1),  # inside of the step
    ]
    after = vars(schedules.StepLR).get("step"), schedules.LRScheduler.__init__
    assert after == before
    assert lib.amp.GradScaler.scale is scaling
