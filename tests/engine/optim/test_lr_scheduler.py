"""Schedulers of the learning rate, epoch by epoch beside PyTorch's."""

from __future__ import annotations

import copy
import pickle
import warnings

import pytest

import gradtape as gt

from ..oracle import assert_same

SCHEDULERS = [
    ("StepLR", {"step_size": 3}),
    ("StepLR", {"step_size": 1, "gamma": 0.5}),
    ("MultiStepLR", {"milestones": [2, 5, 5, 9], "gamma": 0.5}),
    ("ConstantLR", {}),
    ("ConstantLR", {"factor": 0.5, "total_iters": 2}),
    ("LinearLR", {}),
    ("LinearLR", {"start_factor": 1.0, "end_factor": 0.1, "total_iters": 7}),
    ("LinearLR", {"start_factor": 0.25, "total_iters": 3}),
    ("ExponentialLR", {"gamma": 0.9}),
    ("PolynomialLR", {}),
    ("PolynomialLR", {"total_iters": 8, "power": 2.5}),
    ("CosineAnnealingLR", {"T_max": 4}),
    ("CosineAnnealingLR", {"T_max": 10, "eta_min": 0.01}),
    ("CosineAnnealingWarmRestarts", {"T_0": 3}),
    ("CosineAnnealingWarmRestarts", {"T_0": 2, "T_mult": 2, "eta_min": 0.01}),
    ("CyclicLR", {"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 3}),
    (
        "CyclicLR",
        {
            "base_lr": [0.1, 0.2],
            "max_lr": [1.0, 2.0],
            "step_size_up": 2,
            "step_size_down": 3,
            "mode": "triangular2",
        },
    ),
    (
        "CyclicLR",
        {
            "base_lr": 0.1,
            "max_lr": 1.0,
            "step_size_up": 3,
            "mode": "exp_range",
            "gamma": 0.9,
            "base_momentum": 0.5,
        },
    ),
    ("OneCycleLR", {"max_lr": 1.0, "total_steps": 20}),
    ("OneCycleLR", {"max_lr": [1.0, 2.0], "epochs": 5, "steps_per_epoch": 4}),
    (
        "OneCycleLR",
        {
            "max_lr": 0.5,
            "total_steps": 20,
            "anneal_strategy": "linear",
            "three_phase": True,
            "pct_start": 0.4,
        },
    ),
]
IDS = [f"{name}-{number}" for number, (name, _) in enumerate(SCHEDULERS)]
each_scheduler = pytest.mark.parametrize(("name", "options"), SCHEDULERS, ids=IDS)


def optimizer_of(t, kind="SGD", lr=0.5, **options):
    first, second = t.ones(2, requires_grad=True), t.ones(3, requires_grad=True)
    if kind == "SGD":
        options.setdefault("momentum", 0.9)
    groups = [{"params": [first]}, {"params": [second], "lr": lr / 10}]
    return getattr(t.optim, kind)(groups, lr=lr, **options)


def scheduler_of(t, name, optimizer, **options):
    return getattr(t.optim.lr_scheduler, name)(optimizer, **options)


def plain(state):
    """Return a state without what names the library's own functions."""
    return {key: str(value) for key, value in state.items()}


def followed(optimizer, scheduler, epochs=15):
    path = []
    for _ in range(epochs):
        optimizer.step()
        scheduler.step()
        path.append((scheduler.get_last_lr(), groups_of(optimizer)))
    return path


def groups_of(optimizer):
    return [
        {k: v for k, v in group.items() if k != "params"}
        for group in optimizer.param_groups
    ]


@each_scheduler
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_rates_and_state_are_pytorchs(name, options, kind):
    def program(t):
        optimizer = optimizer_of(t, kind)
        scheduler = scheduler_of(t, name, optimizer, **options)
        start = groups_of(optimizer), scheduler.get_last_lr()
        path = followed(optimizer, scheduler)
        return start, path, plain(scheduler.state_dict())

    assert_same(program, rtol=1e-12)


@each_scheduler
def test_rates_that_are_tensors_are_filled(name, options):
    def program(t):
        rate = t.tensor(0.5)
        weight = t.ones(2, requires_grad=True)
        groups = [{"params": [weight]}, {"params": [t.ones(1, requires_grad=True)]}]
        optimizer = t.optim.SGD(groups, lr=rate, momentum=0.9)
        if name in ("CyclicLR", "OneCycleLR"):
            optimizer.param_groups[1]["lr"] = t.tensor(0.25)
        scheduler = scheduler_of(t, name, optimizer, **options)
        path = []
        for _ in range(8):
            optimizer.step()
            scheduler.step()
            path.append([float(each) for each in scheduler.get_last_lr()])
        return path, optimizer.param_groups[0]["lr"] is rate, float(rate)

    assert_same(program, rtol=1e-5)


@each_scheduler
def test_a_loaded_state_goes_on(name, options):
    def program(t):
        optimizer = optimizer_of(t)
        scheduler = scheduler_of(t, name, optimizer, **options)
        followed(optimizer, scheduler, 4)
        states = copy.deepcopy((optimizer.state_dict(), scheduler.state_dict()))
        optimizer = optimizer_of(t, lr=9.0)
        scheduler = scheduler_of(t, name, optimizer, **options)
        optimizer.load_state_dict(states[0])
        scheduler.load_state_dict(states[1])
        return followed(optimizer, scheduler, 8)

    assert_same(program, rtol=1e-12)


@each_scheduler
def test_last_epoch_resumes(name, options):
    def program(t):
        optimizer = optimizer_of(t)
        scheduler = scheduler_of(t, name, optimizer, **options)
        followed(optimizer, scheduler, 4)
        again = scheduler_of(t, name, optimizer, **options, last_epoch=4)
        return again.get_last_lr(), followed(optimizer, again, 6)

    assert_same(program, rtol=1e-12)


@each_scheduler
def test_resuming_needs_initial_rates(name, options):
    def program(t):
        scheduler_of(t, name, optimizer_of(t), **options, last_epoch=2)

    assert_same(program)


@each_scheduler
def test_an_epoch_may_be_named(name, options):
    def program(t):
        optimizer = optimizer_of(t)
        scheduler = scheduler_of(t, name, optimizer, **options)
        path = []
        for epoch in (1, 3, 2, 10, 0):
            optimizer.step()
            scheduler.step(epoch)
            path.append((scheduler.get_last_lr(), scheduler.last_epoch))
        return path

    assert_same(program, rtol=1e-12)


@each_scheduler
def test_schedulers_pickle(name, options):
    optimizer = optimizer_of(gt)
    scheduler = scheduler_of(gt, name, optimizer, **options)
    followed(optimizer, scheduler, 3)
    scheduler.optimizer.__dict__.pop("step")  # a wrapped step does not pickle
    twin = pickle.loads(pickle.dumps(scheduler))
    assert plain(twin.state_dict()).keys() == plain(scheduler.state_dict()).keys()
    assert twin.get_last_lr() == scheduler.get_last_lr()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        twin.step()
        scheduler.step()
    assert twin.get_last_lr() == scheduler.get_last_lr()


class Square:
    """A callable object with a state."""

    def __init__(self, width):
        self.width = width

    def __call__(self, epoch):
        return self.width / (1 + epoch) ** 2


@pytest.mark.parametrize("name", ["LambdaLR", "MultiplicativeLR"])
def test_functions_give_rates(name):
    def program(t):
        functions = [lambda epoch: 0.9**epoch, Square(3)]
        optimizer = optimizer_of(t)
        scheduler = scheduler_of(t, name, optimizer, lr_lambda=functions)
        path = followed(optimizer, scheduler, 5)
        state = scheduler.state_dict()
        other = scheduler_of(
            t, name, optimizer_of(t), lr_lambda=[lambda epoch: 1.0, Square(7)]
        )
        other.load_state_dict(state)
        return path, state, other.lr_lambdas[1].width, sorted(state)

    assert_same(program, rtol=1e-12)


def test_scale_functions_of_the_user_keep_their_state():
    def program(t):
        def cyclic(width):
            return scheduler_of(
                t,
                "CyclicLR",
                optimizer_of(t),
                base_lr=0.1,
                max_lr=1.0,
                step_size_up=2,
                scale_fn=Square(width),
                mode="mine",
                scale_mode="iterations",
            )

        scheduler, other = cyclic(3), cyclic(8)
        path = followed(scheduler.optimizer, scheduler, 6)
        other.load_state_dict(scheduler.state_dict())
        return path, other.scale_fn(1), scheduler.state_dict()["_scale_fn_custom"]

    assert_same(program, rtol=1e-12)


PLATEAUS = [
    {"patience": 1},
    {"mode": "max", "patience": 0, "factor": 0.5},
    {"patience": 1, "cooldown": 2, "min_lr": 0.01},
    {"patience": 0, "threshold": 0.3, "threshold_mode": "abs"},
    {"mode": "max", "patience": 0, "threshold": 0.3, "threshold_mode": "abs"},
    {"patience": 0, "min_lr": [0.3, 0.01], "eps": 0.2},
]
LOSSES = [3.0, 2.0, 2.0, 2.5, 1.9, 1.89, 1.888, 1.8881, 4.0, 4.0, float("nan"), 0.0]


@pytest.mark.parametrize("options", PLATEAUS, ids=str)
def test_plateaus(options):
    def program(t):
        optimizer = optimizer_of(t)
        scheduler = scheduler_of(t, "ReduceLROnPlateau", optimizer, **options)
        path = []
        for number, loss in enumerate(LOSSES):
            if number == 6:
                state = scheduler.state_dict()
                scheduler = scheduler_of(t, "ReduceLROnPlateau", optimizer)
                scheduler.load_state_dict(state)
            scheduler.step(t.tensor(loss) if number % 2 else loss)
            path.append((scheduler.get_last_lr(), scheduler.in_cooldown))
        return path, plain(scheduler.state_dict())

    assert_same(program, rtol=1e-6)


def plateau_after_a_group_was_added(t, least):
    optimizer = optimizer_of(t)
    scheduler = scheduler_of(
        t, "ReduceLROnPlateau", optimizer, patience=0, min_lr=least
    )
    optimizer.add_param_group({"params": [t.ones(1, requires_grad=True)]})
    scheduler.step(1.0)
    scheduler.step(1.0)
    return scheduler.get_last_lr()


@pytest.mark.parametrize("least", [0.2, [0.1, 0.2]])
def test_plateaus_meet_new_groups(least):
    assert_same(lambda t: plateau_after_a_group_was_added(t, least))


def sequential(t, optimizer, milestones=(3, 6)):
    s = t.optim.lr_scheduler
    parts = [
        s.ConstantLR(optimizer, factor=0.1, total_iters=2),
        s.ExponentialLR(optimizer, gamma=0.9),
        s.CosineAnnealingLR(optimizer, T_max=4),
    ]
    return s.SequentialLR(optimizer, parts, milestones=list(milestones))


def chained(t, optimizer):
    s = t.optim.lr_scheduler
    return s.ChainedScheduler(
        [
            s.ExponentialLR(optimizer, gamma=0.9),
            s.StepLR(optimizer, step_size=2, gamma=0.5),
            s.LinearLR(optimizer, total_iters=4),
        ]
    )


def nested(t, optimizer):
    s = t.optim.lr_scheduler
    parts = [chained(t, optimizer), s.StepLR(optimizer, step_size=2)]
    return s.SequentialLR(optimizer, parts, milestones=[4])


@pytest.mark.parametrize("compose", [sequential, chained, nested])
def test_composed_schedulers(compose):
    def program(t):
        optimizer = optimizer_of(t)
        scheduler = compose(t, optimizer)
        start = scheduler.get_last_lr(), groups_of(optimizer)
        path = followed(optimizer, scheduler, 5)
        states = copy.deepcopy((optimizer.state_dict(), scheduler.state_dict()))
        other = optimizer_of(t, lr=3.0)
        resumed = compose(t, other)
        other.load_state_dict(states[0])
        resumed.load_state_dict(states[1])
        return start, path, plain(states[1]), followed(other, resumed, 8)

    assert_same(program, rtol=1e-12)
