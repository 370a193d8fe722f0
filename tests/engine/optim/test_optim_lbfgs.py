"""L-BFGS beside PyTorch's, with and without a line search."""

from __future__ import annotations

import pytest

import gradtape as gt

from ..oracle import assert_same

OPTIONS = [
    {"lr": 0.5, "max_iter": 3},
    {"lr": 0.1, "max_iter": 6, "history_size": 2},
    {"lr": 0.5, "max_iter": 4, "max_eval": 3},
    {"line_search_fn": "strong_wolfe", "max_iter": 4},
    {"line_search_fn": "strong_wolfe", "max_iter": 4, "lr": 20.0},
    {"line_search_fn": "strong_wolfe", "max_iter": 8, "max_eval": 5, "lr": 1e-3},
    {"line_search_fn": "strong_wolfe", "max_iter": 5, "history_size": 1},
    {"lr": 0.5, "tolerance_grad": 0.5},
    {"lr": 0.5, "tolerance_change": 0.1},
]


def bowl(t, a, b):
    return ((a - 1) ** 2).sum() + (a.sum() * b - 2) ** 2 + 0.1 * (b**4)


def valley(t, a, b):
    return 10 * ((a[1:] - a[:-1] ** 2) ** 2).sum() + ((1 - a) ** 2).sum() + b**2


def descended(t, function, options, steps=3):
    a = t.tensor([-1.2, 1.0, 0.5], dtype=t.float64, requires_grad=True)
    b = t.tensor(0.5, dtype=t.float64, requires_grad=True)
    resting = t.ones(2, dtype=t.float64, requires_grad=True)
    optimizer = t.optim.LBFGS([a, b, resting], **options)
    calls = []

    def closure():
        optimizer.zero_grad()
        loss = function(t, a, b)
        loss.backward()
        calls.append(loss.item())
        return loss

    losses = [optimizer.step(closure).item() for _ in range(steps)]
    (state,) = optimizer.state_dict()["state"].values()
    known = {key: state[key] for key in sorted(state)}
    return losses, calls, a, b, a._version, known, repr(optimizer)


@pytest.mark.parametrize("function", [bowl, valley])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_evaluation_is_at_pytorchs_point(function, options):
    assert_same(lambda t: descended(t, function, options), rtol=1e-6)


def complex_parameter(t):
    z = t.view_as_complex(t.tensor([[1.0, 2.0], [-1.0, 0.5]], dtype=t.float64))
    z = z.requires_grad_()
    optimizer = t.optim.LBFGS([z], lr=0.3, max_iter=5)

    def closure():
        optimizer.zero_grad()
        loss = (t.view_as_real(z) ** 4).sum()
        loss.backward()
        return loss

    return optimizer.step(closure).item(), t.view_as_real(z.detach())


def two_groups(t):
    a, b = t.ones(1, requires_grad=True), t.ones(1, requires_grad=True)
    t.optim.LBFGS([{"params": [a]}, {"params": [b]}])


def unknown_search(t):
    return descended(t, bowl, {"line_search_fn": "golden"})


def already_flat(t):
    a = t.zeros(2, requires_grad=True)
    optimizer = t.optim.LBFGS([a])

    def closure():
        optimizer.zero_grad()
        loss = (a * a).sum()
        loss.backward()
        return loss

    loss = optimizer.step(closure)
    return loss.item(), a._version, list(optimizer.state[a].items())


def no_closure(t):
    try:
        t.optim.LBFGS([t.ones(1, requires_grad=True)]).step()
    except TypeError as error:
        return str(error).split(".")[-1]


def state_round_trip(t):
    a = t.tensor([-1.2, 1.0], dtype=t.float64, requires_grad=True)
    optimizer = t.optim.LBFGS([a], lr=0.2, max_iter=3)

    def closure():
        optimizer.zero_grad()
        loss = valley(t, a, a.sum())
        loss.backward()
        return loss

    optimizer.step(closure)
    state = optimizer.state_dict()
    optimizer = t.optim.LBFGS([a], lr=7.0)
    optimizer.load_state_dict(state)
    optimizer.step(closure)
    return a


PROGRAMS = [
    complex_parameter,
    two_groups,
    unknown_search,
    already_flat,
    no_closure,
    state_round_trip,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_same_as_pytorch(program):
    assert_same(program, rtol=1e-6)


def test_the_write_log_names_the_step():
    a = gt.ones(2, requires_grad=True)
    optimizer = gt.optim.LBFGS([a], max_iter=2, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = (a**4).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    assert {write.op for write in a._storage.writes} == {"LBFGS.step"}
    assert a.grad_fn is None
