"""An optimizer that works on lent parameters for a while, beside PyTorch's."""

from __future__ import annotations

import copy

import pytest

from ..oracle import assert_same


def optimizer_of(t, steps=2):
    members = [t.tensor([1.0, 2.0], requires_grad=True) for _ in range(3)]
    groups = [{"params": members[:2]}, {"params": members[2:], "lr": 0.5}]
    optimizer = t.optim.Adam(groups, lr=0.1)
    for _ in range(steps):
        for member in members:
            member.grad = t.tensor([0.5, -1.0])
        optimizer.step()
    return optimizer, members


def others(t, count=3):
    made = {}
    for number in range(count):
        made[str(number)] = t.tensor([3.0, -1.0], requires_grad=True)
        made[str(number)].grad = t.tensor([1.0, 2.0])
    return made


def lent_and_given_back(t):
    optimizer, members = optimizer_of(t)
    state = copy.deepcopy(optimizer.state_dict())
    state["param_groups"][0]["lr"] = 2.0
    del state["state"][1]
    lent = others(t)
    try:
        with t.optim.swap_in_optimizer_params_and_state(optimizer, lent, state):
            optimizer.step()
            inside = repr(optimizer), len(optimizer.state)
            raise KeyError("inside")
    except KeyError:
        pass
    optimizer.step()
    return list(lent.values()), members, inside, repr(optimizer), state["state"]


def test_a_step_on_lent_parameters():
    assert_same(lent_and_given_back, rtol=1e-5)


CHANGES = {
    "no dict": lambda state: 3,
    "no states": lambda state: {**state, "state": [1]},
    "states no dicts": lambda state: {**state, "state": {0: 3}},
    "unknown states": lambda state: {**state, "state": {**state["state"], "x": {}}},
    "no groups": lambda state: {**state, "param_groups": {}},
    "fewer groups": lambda state: {
        **state,
        "param_groups": state["param_groups"][:1],
    },
    "group no dict": lambda state: {**state, "param_groups": [1, 2]},
    "names for numbers": lambda state: {
        **state,
        "param_groups": [{**g, "params": ["a"]} for g in state["param_groups"]],
    },
    "other size": lambda state: {
        **state,
        "param_groups": [{**g, "params": [0]} for g in state["param_groups"]],
    },
    "other options": lambda state: {
        **state,
        "param_groups": [{**g, "odd": [0]} for g in state["param_groups"]],
    },
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_does_not_fit_is_refused_alike(change):
    def program(t):
        optimizer, _ = optimizer_of(t)
        state = change(optimizer.state_dict())
        with t.optim.swap_in_optimizer_params_and_state(optimizer, others(t), state):
            pass

    assert_same(program)


@pytest.mark.parametrize(("steps", "count"), [(0, 3), (1, 2)])
def test_missing_state_or_parameters_are_refused_alike(steps, count):
    def program(t):
        optimizer, _ = optimizer_of(t, steps)
        lent, state = others(t, count), optimizer.state_dict()
        with t.optim.swap_in_optimizer_params_and_state(optimizer, lent, state):
            pass

    assert_same(program)


def test_states_keyed_by_tensors_are_refused_alike():
    def program(t):
        optimizer, members = optimizer_of(t)
        state = {**optimizer.state_dict(), "state": {members[0]: {}}}
        with t.optim.swap_in_optimizer_params_and_state(optimizer, others(t), state):
            pass

    assert_same(program)
