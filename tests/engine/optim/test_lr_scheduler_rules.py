"""Warnings and refusals of schedulers of the learning rate, beside PyTorch's."""

from __future__ import annotations

import weakref

import pytest

import gradtape as gt

from ..oracle import assert_same
from .test_lr_scheduler import SCHEDULERS, followed, optimizer_of, scheduler_of


def step_before_the_optimizer(t):
    scheduler = scheduler_of(t, "StepLR", optimizer_of(t), step_size=1)
    scheduler.step()
    scheduler.step()


def step_replaced(t):
    optimizer = optimizer_of(t)
    scheduler = scheduler_of(t, "StepLR", optimizer, step_size=1)
    optimizer.step = lambda: None
    scheduler.step()


def get_lr_outside(t):
    optimizer = optimizer_of(t)
    scheduler = scheduler_of(t, "ExponentialLR", optimizer, gamma=0.5)
    return scheduler.get_lr()


def two_schedulers(t):
    optimizer = optimizer_of(t)
    first = scheduler_of(t, "ExponentialLR", optimizer, gamma=0.5)
    second = scheduler_of(t, "StepLR", optimizer, step_size=1, gamma=0.5)
    optimizer.step()
    first.step()
    second.step()
    return optimizer.param_groups[0]["lr"]


def base_class(t):
    t.optim.lr_scheduler.LRScheduler(optimizer_of(t))


def fractions_of_epochs(t):
    optimizer = optimizer_of(t)
    scheduler = scheduler_of(
        t, "CosineAnnealingWarmRestarts", optimizer, T_0=2, T_mult=3
    )
    path = []
    for tenth in range(0, 100, 7):
        scheduler.step(tenth / 10)
        path.append((scheduler.get_last_lr(), scheduler.last_epoch, scheduler.T_i))
    return path


def too_many_steps(t):
    optimizer = optimizer_of(t)
    scheduler = scheduler_of(t, "OneCycleLR", optimizer, max_lr=1.0, total_steps=3)
    followed(optimizer, scheduler, 5)


PROGRAMS = [
    step_before_the_optimizer,
    step_replaced,
    get_lr_outside,
    two_schedulers,
    base_class,
    fractions_of_epochs,
    too_many_steps,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_same_as_pytorch(program):
    assert_same(program, rtol=1e-12)


REFUSED = [
    *((name, {"optimizer": 3, **options}) for name, options in SCHEDULERS),
    ("ReduceLROnPlateau", {"optimizer": 3}),
    ("ReduceLROnPlateau", {"factor": 1.0}),
    ("ReduceLROnPlateau", {"mode": "other"}),
    ("ReduceLROnPlateau", {"threshold_mode": "other"}),
    ("ReduceLROnPlateau", {"min_lr": [0.1]}),
    ("ConstantLR", {"factor": 1.5}),
    ("LinearLR", {"start_factor": 0}),
    ("LinearLR", {"end_factor": 1.5}),
    ("LambdaLR", {"lr_lambda": [lambda epoch: 1]}),
    ("MultiplicativeLR", {"lr_lambda": [lambda epoch: 1]}),
    ("MultiplicativeLR", {"lr_lambda": 0.5}),
    ("CosineAnnealingWarmRestarts", {"T_0": 0}),
    ("CosineAnnealingWarmRestarts", {"T_0": 1.5}),
    ("CosineAnnealingWarmRestarts", {"T_0": 1, "T_mult": 0}),
    ("CosineAnnealingWarmRestarts", {"T_0": 1, "eta_min": "0"}),
    ("CyclicLR", {"base_lr": [1, 2, 3], "max_lr": 1}),
    ("CyclicLR", {"base_lr": 1, "max_lr": [1]}),
    ("CyclicLR", {"base_lr": 1, "max_lr": 2, "mode": "other"}),
    ("OneCycleLR", {"max_lr": 1}),
    ("OneCycleLR", {"max_lr": 1, "total_steps": 0}),
    ("OneCycleLR", {"max_lr": 1, "total_steps": 1.5}),
    ("OneCycleLR", {"max_lr": 1, "epochs": -1, "steps_per_epoch": 3}),
    ("OneCycleLR", {"max_lr": 1, "epochs": 1, "steps_per_epoch": 0}),
    ("OneCycleLR", {"max_lr": 1, "total_steps": 9, "pct_start": 2.0}),
    ("OneCycleLR", {"max_lr": 1, "total_steps": 9, "anneal_strategy": "cosine"}),
    ("SequentialLR", {"schedulers": [], "milestones": []}),
    ("SequentialLR", {"schedulers": [3], "milestones": []}),
    ("ChainedScheduler", {"optimizer": None, "schedulers": []}),
]
REFUSED_IDS = [f"{name}-{','.join(options)}" for name, options in REFUSED]


@pytest.mark.parametrize(
    ("name", "options"), REFUSED, ids=lambda v: v if isinstance(v, str) else ",".join(v)
)
def test_same_refusal_as_pytorch(name, options):
    def program(t):
        chosen = {"optimizer": optimizer_of(t), **options}
        getattr(t.optim.lr_scheduler, name)(**chosen)

    assert_same(program)


@pytest.mark.parametrize("name", ["CyclicLR", "OneCycleLR"])
def test_cycles_of_momentum_need_momentum(name):
    def program(t):
        chosen = {"max_lr": 1.0}
        chosen |= {"base_lr": 0.1} if name == "CyclicLR" else {"total_steps": 9}
        optimizer = optimizer_of(t, "Adagrad")
        scheduler_of(t, name, optimizer, **chosen, cycle_momentum=False)
        scheduler_of(t, name, optimizer, **chosen)

    assert_same(program)


@pytest.mark.parametrize("compose", ["SequentialLR", "ChainedScheduler"])
@pytest.mark.parametrize("wrong", ["plateau", "other optimizer", "milestones"])
def test_composed_schedulers_refuse_members(compose, wrong):
    def program(t):
        optimizer, s = optimizer_of(t), t.optim.lr_scheduler
        member = s.ExponentialLR(optimizer, 0.5)
        if wrong == "plateau":
            member = s.ReduceLROnPlateau(optimizer)
        elif wrong == "other optimizer":
            member = s.ExponentialLR(optimizer_of(t), 0.5)
        if compose == "ChainedScheduler":
            s.ChainedScheduler([member], optimizer)
        else:
            s.SequentialLR(optimizer, [member], [1] if wrong == "milestones" else [])

    assert_same(program)


@pytest.mark.usefixtures("no_collector")
def test_a_scheduled_optimizer_is_freed_without_the_collector():
    optimizer = optimizer_of(gt)
    scheduler = scheduler_of(gt, "StepLR", optimizer, step_size=1)
    freed = weakref.ref(optimizer)
    del scheduler, optimizer
    assert freed() is None
