"""Every optimizer and option, step by step beside PyTorch's."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import gradtape as gt

from ..oracle import assert_same

COMMON = [
    {},
    {"lr": 0.05},
    {"maximize": True},
    {"foreach": True},
    {"foreach": False},
    {"differentiable": True},
]
WITH_DECAY = [
    {"weight_decay": 0.1},
    {"weight_decay": 0.1, "maximize": True, "lr": 0.02},
]
BETAS = [{"betas": (0.5, 0.75)}, {"betas": (0.0, 0.9), "eps": 1e-3}]
DECOUPLED = [{"weight_decay": 0.1, "decoupled_weight_decay": True}]
FUSED = [{"fused": True}, {"fused": True, "weight_decay": 0.1}]

OPTIONS = {
    "Adadelta": [*COMMON, *WITH_DECAY, {"rho": 0.5}, {"eps": 1e-2, "rho": 1.0}],
    "Adagrad": [
        *COMMON,
        *WITH_DECAY,
        *FUSED,
        {"lr_decay": 0.5},
        {"initial_accumulator_value": 0.5, "eps": 1e-3},
    ],
    "Adam": [
        *COMMON,
        *WITH_DECAY,
        *BETAS,
        *DECOUPLED,
        *FUSED,
        {"amsgrad": True},
        {"amsgrad": True, "differentiable": True, "weight_decay": 0.1},
    ],
    "AdamW": [*COMMON, *WITH_DECAY, *BETAS, *FUSED, {"amsgrad": True}],
    "Adamax": [*COMMON, *WITH_DECAY, *BETAS],
    "ASGD": [
        *COMMON,
        *WITH_DECAY,
        {"lambd": 0.1, "alpha": 0.5},
        {"t0": 3},
        {"t0": 3, "differentiable": True},
    ],
    "NAdam": [
        *COMMON,
        *WITH_DECAY,
        *BETAS,
        *DECOUPLED,
        {"momentum_decay": 0.1},
        {"momentum_decay": 0.1, "differentiable": True},
    ],
    "RAdam": [*COMMON, *WITH_DECAY, *BETAS, *DECOUPLED],
    "RMSprop": [
        *COMMON,
        *WITH_DECAY,
        {"alpha": 0.5},
        {"momentum": 0.9},
        {"centered": True},
        {"centered": True, "momentum": 0.9, "weight_decay": 0.1},
        {"centered": True, "momentum": 0.9, "differentiable": True},
    ],
    "Rprop": [
        *COMMON,
        {"etas": (0.3, 1.5)},
        {"step_sizes": (0.01, 0.02)},
        {"lr": 0.5, "etas": (0.9, 1.01)},
    ],
    "SGD": [
        *COMMON,
        *WITH_DECAY,
        *FUSED,
        {"momentum": 0.9, "differentiable": True},
        {"momentum": 0.9, "nesterov": True, "differentiable": True},
        {"momentum": 0.9, "dampening": 0.1, "weight_decay": 0.1},
    ],
}
ONLY_PLAIN = {
    "Adafactor": [
        {},
        {"lr": 0.5},
        {"maximize": True},
        {"weight_decay": 0.1},
        {"beta2_decay": -0.5, "d": 1.5},
        {"eps": (1e-3, 0.1)},
    ],
    "Muon": [
        {},
        {"lr": 0.1, "momentum": 0.5},
        {"nesterov": False, "weight_decay": 0.0},
        {"adjust_lr_fn": "match_rms_adamw"},
        {"adjust_lr_fn": "original", "ns_steps": 3},
    ],
}
CASES = [(name, options) for name, all_ in OPTIONS.items() for options in all_]
STATES = np.random.default_rng(7)
WEIGHTS = STATES.normal(size=(3, 4)).tolist()
GRADS = STATES.normal(size=(12, 3, 4)).tolist()


def stepped(t, name, options, dtype="float32", steps=12):
    """Return the path of a parameter that is given gradients, and all that is left."""
    weight = t.tensor(WEIGHTS, dtype=getattr(t, dtype), requires_grad=True)
    scale = t.tensor(0.5, dtype=getattr(t, dtype), requires_grad=True)
    resting = t.tensor([1.0], requires_grad=True)
    optimizer = getattr(t.optim, name)([weight, scale, resting], **options)
    path = []
    for grad in GRADS[:steps]:
        weight.grad = t.tensor(grad, dtype=weight.dtype)
        scale.grad = t.tensor(grad[0][0], dtype=scale.dtype)
        if options.get("differentiable"):
            with t.no_grad():  # a leaf cannot be written while recorded
                optimizer.defaults["differentiable"] = False
                optimizer.step()
        else:
            optimizer.step()
        path.append((weight.tolist(), scale.tolist()))
    return path, optimizer.state_dict(), repr(optimizer)


def tolerance(name, options):
    # The differences of nearly equal squares lose digits.
    return 2e-3 if options.get("centered") else 2e-5


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_steps_and_states_are_pytorchs(name, options):
    assert_same(lambda t: stepped(t, name, options), rtol=tolerance(name, options))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("name", "options"),
    [(name, options) for name, all_ in ONLY_PLAIN.items() for options in all_],
    ids=str,
)
@pytest.mark.parametrize("tall", [False, True])
def test_optimizers_of_matrices(name, options, dtype, tall):
    def program(t):
        kind = getattr(t, dtype)
        weight = t.tensor(WEIGHTS, dtype=kind)
        weight = (weight.t().clone() if tall else weight).requires_grad_()
        others = [t.ones(3, dtype=kind), t.tensor(0.5, dtype=kind)]
        members = [weight] if name == "Muon" else [weight, *others]
        optimizer = getattr(t.optim, name)(members, **options)
        path = []
        for grad in GRADS[:6]:
            whole = t.tensor(grad, dtype=kind)
            others[0].grad = whole[0, :3].clone()
            others[1].grad = whole[0, 0].clone()
            weight.grad = whole.t().clone() if tall else whole
            optimizer.step()
            path.append([member.tolist() for member in members])
        return path, optimizer.state_dict(), repr(optimizer), weight._version

    # Muon rounds to 8 bits: sums in another order can differ by one of them.
    assert_same(program, rtol=0.05 if name == "Muon" else 2e-5)


@pytest.mark.parametrize("name", OPTIONS)
def test_double_precision(name):
    assert_same(lambda t: stepped(t, name, {"lr": 0.05}, "float64"), rtol=1e-9)


COMPLEX_OPTIONS = [
    *((name, {}) for name in OPTIONS),
    *((name, {"weight_decay": 0.1}) for name in OPTIONS if name != "Rprop"),
    ("Adam", {"amsgrad": True}),
    ("Adagrad", {"initial_accumulator_value": 0.1}),
    ("RMSprop", {"centered": True, "momentum": 0.9}),
    ("SGD", {"momentum": 0.9, "nesterov": True}),
]


@pytest.mark.parametrize(("name", "options"), COMPLEX_OPTIONS, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_complex_parameters_step_as_pairs(name, options, dtype):
    def program(t):
        def pairs(values):
            real = t.tensor(values, dtype=getattr(t, dtype)).reshape(3, 2, 2)
            return t.view_as_complex(real)

        weight = pairs(WEIGHTS).requires_grad_()
        optimizer = getattr(t.optim, name)([weight], **options)
        path = []
        for grad in GRADS:
            weight.grad = pairs(grad)
            optimizer.step()
            path.append(t.view_as_real(weight.detach()).tolist())
        (state,) = optimizer.state_dict()["state"].values() or [{}]
        parts = {
            key: t.view_as_real(value) if value.is_complex() else value
            for key, value in state.items()
        }
        return path, parts

    assert_same(program, rtol=tolerance(name, options))


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_short_dtypes_stay_near(name, dtype):
    rtol = 2e-2 if dtype == "float16" else 1e-1
    path = dict.fromkeys(("ours", "theirs"))
    torch = pytest.importorskip("torch")
    for key, t in (("ours", gt), ("theirs", torch)):
        path[key] = stepped(t, name, {"lr": 0.05, "foreach": False}, dtype, 4)[0]
    for ours, theirs in zip(path["ours"], path["theirs"], strict=True):
        np.testing.assert_allclose(ours[0], theirs[0], rtol=rtol, atol=rtol)
        np.testing.assert_allclose(ours[1], theirs[1], rtol=rtol, atol=rtol)


@pytest.mark.parametrize("name", OPTIONS)
def test_a_tensor_as_learning_rate(name):
    def program(t):
        return stepped(t, name, {"lr": t.tensor(0.05)})[0]

    assert_same(program, rtol=2e-5)


@pytest.mark.parametrize("name", [n for n in OPTIONS if n not in ("Rprop", "SGD")])
def test_a_tensor_as_weight_decay(name):
    def program(t):
        return stepped(t, name, {"weight_decay": t.tensor(0.05), "foreach": False})[0]

    assert_same(program, rtol=2e-5)


def test_states_may_hold_more():
    def program(t):
        weight = t.tensor(WEIGHTS, requires_grad=True)
        optimizer = t.optim.RMSprop([weight])
        for grad in GRADS[:3]:
            weight.grad = t.tensor(grad)
            optimizer.step()
            state = optimizer.state[weight]
            state["seen"] = state.get("seen", 0) + 1
        return weight, optimizer.state_dict()

    assert_same(program, rtol=2e-5)


@pytest.mark.parametrize("name", OPTIONS)
def test_versions_grow_as_pytorchs(name):
    def program(t):
        weight = t.tensor(WEIGHTS, requires_grad=True)
        decay = {} if name == "Rprop" else {"weight_decay": 0.1}
        optimizer = getattr(t.optim, name)([weight], foreach=False, **decay)
        versions = []
        for grad in GRADS[:3]:
            weight.grad = t.tensor(grad)
            optimizer.step()
            versions.append((weight._version, weight.is_leaf, weight.grad_fn))
        return versions

    assert_same(program)


@pytest.mark.parametrize("name", OPTIONS)
def test_layouts_are_kept(name):
    def program(t):
        weight = t.tensor(WEIGHTS).t().clone().t().requires_grad_()
        optimizer = getattr(t.optim, name)([weight])
        weight.grad = t.tensor(GRADS[0])
        optimizer.step()
        return weight, optimizer.state_dict()["state"]

    assert_same(program, rtol=2e-5)


@pytest.mark.parametrize("name", OPTIONS)
def test_capturable_is_refused_on_the_cpu(name):
    def program(t):
        optimizer = getattr(t.optim, name)(
            [t.ones(2, requires_grad=True)], capturable=True, foreach=False
        )
        optimizer.param_groups[0]["params"][0].grad = t.ones(2)
        optimizer.step()

    assert_same(program)


OUT_OF_RANGE = [
    *((name, {"lr": -1.0}) for name in OPTIONS),
    *((name, {"weight_decay": -1.0}) for name in OPTIONS if name != "Rprop"),
    *(
        (name, options)
        for name in ("Adam", "AdamW", "Adamax", "NAdam", "RAdam")
        for options in (
            {"betas": (1.0, 0.9)},
            {"betas": (0.9, -0.1)},
            {"eps": -1.0},
            {"eps": float("nan")},
        )
    ),
    ("Adadelta", {"rho": 1.1}),
    ("Adadelta", {"eps": -1.0}),
    ("Adafactor", {"lr": -1.0}),
    ("Adafactor", {"beta2_decay": 0.5}),
    ("Adafactor", {"eps": (-1e-30, 1e-3)}),
    ("Adafactor", {"eps": (None, -1e-3)}),
    ("Adafactor", {"d": 0.5}),
    ("Adafactor", {"weight_decay": -1.0}),
    ("Muon", {}),
    ("Muon", {"lr": -1.0}),
    ("Muon", {"momentum": -1.0}),
    ("Muon", {"weight_decay": -1.0}),
    ("Muon", {"adjust_lr_fn": "arbitrary"}),
    ("Adagrad", {"lr_decay": -0.5}),
    ("Adagrad", {"initial_accumulator_value": -0.5}),
    ("Adagrad", {"eps": -0.5}),
    ("Adagrad", {"fused": True, "differentiable": True}),
    ("Adagrad", {"fused": True, "foreach": True}),
    ("Adam", {"fused": True, "differentiable": True}),
    ("Adam", {"fused": True, "foreach": True}),
    ("Adam", {"betas": (0, 0.9)}),
    ("NAdam", {"momentum_decay": -0.2}),
    ("RMSprop", {"momentum": -1.0}),
    ("RMSprop", {"alpha": -1.0}),
    ("RMSprop", {"eps": -1.0}),
    ("Rprop", {"etas": (1.0, 0.5)}),
    ("SGD", {"fused": True, "differentiable": True}),
    ("SGD", {"fused": True, "foreach": True}),
]


@pytest.mark.parametrize(("name", "options"), OUT_OF_RANGE, ids=str)
def test_options_out_of_range_are_refused_alike(name, options):
    assert_same(lambda t: getattr(t.optim, name)([t.ones(2)], **options))


@pytest.mark.parametrize("name", OPTIONS)
def test_a_long_tensor_is_no_learning_rate(name):
    assert_same(lambda t: getattr(t.optim, name)([t.ones(2)], lr=t.ones(2)))


@pytest.mark.parametrize("name", OPTIONS)
def test_pickled_or_copied_optimizers_go_on(name):
    def program(t):
        weight = t.tensor(WEIGHTS, requires_grad=True)
        optimizer = getattr(t.optim, name)([weight])
        for grad in GRADS[:2]:
            weight.grad = t.tensor(grad)
            optimizer.step()
        twin = copy.deepcopy(optimizer)
        (member,) = twin.param_groups[0]["params"]
        member.grad = t.tensor(GRADS[2])
        twin.step()
        return member is weight, member, sorted(twin.__getstate__())

    assert_same(program, rtol=2e-5)


@pytest.mark.parametrize("name", OPTIONS)
def test_states_of_older_versions_load(name):
    def program(t):
        weight = t.tensor(WEIGHTS, requires_grad=True)
        optimizer = getattr(t.optim, name)([weight])
        weight.grad = t.tensor(GRADS[0])
        optimizer.step()
        old = copy.deepcopy(optimizer.state_dict())
        for option in ("foreach", "fused", "maximize", "capturable", "differentiable"):
            for group in old["param_groups"]:
                group.pop(option, None)
        for state in old["state"].values():
            if "step" in state:
                state["step"] = state["step"].item()
        optimizer.load_state_dict(old)
        weight.grad = t.tensor(GRADS[1])
        optimizer.step()
        return weight, optimizer.state_dict()["state"], repr(optimizer)

    assert_same(program, rtol=2e-5)


def test_nothing_is_recorded():
    for name in OPTIONS:
        weight = gt.tensor(WEIGHTS, requires_grad=True)
        optimizer = getattr(gt.optim, name)([weight])
        weight.grad = gt.tensor(GRADS[0])
        optimizer.step()
        (state,) = [optimizer.state[weight]] if name != "SGD" else [{}]
        assert all(value.grad_fn is None for value in state.values())
        assert {write.op for write in weight._storage.writes} == {f"{name}.step"}
