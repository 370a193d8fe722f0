"""Averaged models, their schedulers and their batch norms, beside PyTorch's."""

from __future__ import annotations

import copy
import pickle

import pytest

import gradtape as gt

from ..oracle import assert_same


def model_of(t):
    """Return a model with parameters, float buffers and an integer one."""
    model = t.nn.Sequential(t.nn.Linear(2, 3), t.nn.BatchNorm1d(3), t.nn.Linear(3, 1))
    fill(t, model, 0)
    return model


def fill(t, model, turn):
    with t.no_grad():
        for number, param in enumerate(model.parameters()):
            values = t.arange(param.numel(), dtype=param.dtype).reshape(param.shape)
            param.copy_((values * 0.37 + number + turn * 1.7).sin())


def state_of(model):
    return [(name, value.tolist()) for name, value in model.state_dict().items()]


AVERAGES = {
    "default": lambda u: {},
    "mean": lambda u: {"avg_fn": u.get_swa_avg_fn()},
    "ema": lambda u: {"avg_fn": u.get_ema_avg_fn(0.75)},
    "means": lambda u: {"multi_avg_fn": u.get_swa_multi_avg_fn()},
    "emas": lambda u: {"multi_avg_fn": u.get_ema_multi_avg_fn(0.3)},
    "own": lambda u: {"avg_fn": lambda average, value, count: value * 2 + count},
}


@pytest.mark.parametrize("average", AVERAGES.values(), ids=AVERAGES.keys())
@pytest.mark.parametrize("use_buffers", [False, True])
def test_averages_are_pytorchs(average, use_buffers):
    def program(t):
        model = model_of(t)
        averaged = t.optim.swa_utils.AveragedModel(
            model, use_buffers=use_buffers, **average(t.optim.swa_utils)
        )
        path = []
        for turn in range(5):
            fill(t, model, turn)
            model(t.tensor([[1.0, turn], [turn, 2.0]]))
            averaged.update_parameters(model)
            path.append(state_of(averaged))
        output = averaged(t.tensor([[1.0, -2.0], [3.0, 0.5]]))
        return path, output.tolist(), averaged.n_averaged, repr(averaged)

    assert_same(program, rtol=1e-5)


def both_functions(t):
    u = t.optim.swa_utils
    u.AveragedModel(
        model_of(t),
        avg_fn=u.get_swa_avg_fn(),
        multi_avg_fn=u.get_swa_multi_avg_fn(),
    )


def decay_out_of_range(t):
    t.optim.swa_utils.get_ema_avg_fn(1.5)


def multi_decay_out_of_range(t):
    t.optim.swa_utils.get_ema_multi_avg_fn(-0.5)


def averages_of_integers(t):
    u = t.optim.swa_utils
    average, value = [t.tensor([1, 10])], [t.tensor([9, 2])]
    u.get_ema_multi_avg_fn(0.25)(average, value, 3)
    return average


def the_model_stays_apart(t):
    model = model_of(t)
    averaged = t.optim.swa_utils.AveragedModel(model)
    averaged.update_parameters(model)
    fill(t, model, 3)
    weight = averaged.module[0].weight
    return weight, weight.requires_grad, weight.grad_fn, averaged.training


def statistics_are_renewed(t):
    model = model_of(t)
    model[1].momentum = 0.3
    model.eval()
    data = [
        t.tensor([[1.0, 2.0], [3.0, -1.0]]),
        [t.tensor([[0.0, 1.0], [2.0, 5.0], [1.0, 1.0]]), "label"],
    ]
    t.optim.swa_utils.update_bn(data, model)
    return state_of(model), model.training, model[1].training, model[1].momentum


def without_batch_norm(t):
    model = t.nn.Linear(2, 1)
    loader = iter([t.ones(1, 2)])
    t.optim.swa_utils.update_bn(loader, model)
    return len(list(loader))


PROGRAMS = [
    both_functions,
    decay_out_of_range,
    multi_decay_out_of_range,
    averages_of_integers,
    the_model_stays_apart,
    statistics_are_renewed,
    without_batch_norm,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_same_as_pytorch(program):
    assert_same(program)


def optimizer_of(t, lr=0.5):
    first, second = t.ones(2, requires_grad=True), t.ones(3, requires_grad=True)
    groups = [{"params": [first]}, {"params": [second], "lr": lr / 10}]
    return t.optim.SGD(groups, lr=lr)


OPTIONS = [
    {"swa_lr": 0.05},
    {"swa_lr": [0.1, 1.0], "anneal_epochs": 4},
    {"swa_lr": 0.05, "anneal_epochs": 4, "anneal_strategy": "linear"},
    {"swa_lr": 0.05, "anneal_epochs": 0},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_rates_are_pytorchs(options):
    def program(t):
        optimizer = optimizer_of(t)
        other = t.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
        scheduler = t.optim.swa_utils.SWALR(optimizer, **options)
        path = []
        for epoch in range(12):
            optimizer.step()
            (other if epoch < 3 else scheduler).step()
            path.append((scheduler.get_last_lr(), optimizer.param_groups[0]["lr"]))
            if epoch == 6:
                states = copy.deepcopy((optimizer.state_dict(), scheduler.state_dict()))
                optimizer = optimizer_of(t, 3.0)
                scheduler = t.optim.swa_utils.SWALR(optimizer, 7.0)
                optimizer.load_state_dict(states[0])
                scheduler.load_state_dict(states[1])
        return path, states[1]

    assert_same(program, rtol=1e-9)


REFUSED = [
    {"swa_lr": [0.1]},
    {"swa_lr": 0.1, "anneal_strategy": "cosine"},
    {"swa_lr": 0.1, "anneal_epochs": -1},
    {"swa_lr": 0.1, "anneal_epochs": 1.5},
]


@pytest.mark.parametrize("options", REFUSED, ids=str)
def test_same_refusal_as_pytorch(options):
    assert_same(lambda t: t.optim.swa_utils.SWALR(optimizer_of(t), **options))


def test_an_averaged_model_pickles():
    averaged = gt.optim.swa_utils.AveragedModel(model_of(gt))
    averaged.update_parameters(model_of(gt))
    twin = pickle.loads(pickle.dumps(averaged))
    assert state_of(twin) == state_of(averaged)


def test_averaging_is_not_recorded():
    model = model_of(gt)
    averaged = gt.optim.swa_utils.AveragedModel(model)
    for _ in range(3):
        averaged.update_parameters(model)
    assert all(param.grad_fn is None for param in averaged.parameters())
