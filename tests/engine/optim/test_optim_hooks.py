"""What all optimizers share: hooks, states, groups, closures; beside PyTorch's."""

from __future__ import annotations

import copy
import importlib
import pickle
import weakref

import pytest

import gradtape as gt

from ..oracle import assert_same

BUILT_IN = (
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "ASGD",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
)


def parameter(t):
    return t.tensor([1.0, 2.0], requires_grad=True)


def stepped(t, optimizer):
    for group in optimizer.param_groups:
        for param in group["params"]:
            param.grad = t.ones_like(param)
    optimizer.step()


def base_module(t):
    return importlib.import_module(f"{t.__name__}.optim.optimizer")


def hooks_of_one_and_all(t):
    seen = []
    module = base_module(t)
    optimizer, other = (t.optim.SGD([parameter(t)], lr=0.1) for _ in range(2))
    for_all = [
        module.register_optimizer_step_pre_hook(lambda o, a, k: seen.append("all pre")),
        module.register_optimizer_step_post_hook(lambda *x: seen.append("all post")),
    ]
    try:
        own = optimizer.register_step_pre_hook(lambda o, a, k: seen.append("pre"))
        optimizer.register_step_post_hook(lambda o, a, k: seen.append("post"))
        optimizer.step()
        other.step()
        own.remove()
    finally:
        for handle in for_all:
            handle.remove()
    optimizer.step()
    return seen


def what_hooks_get(t):
    optimizer, seen = t.optim.SGD([parameter(t)], lr=0.1), []

    def look(chosen, args, kwargs):
        seen.append((chosen is optimizer, args[0] is optimizer, len(args), [*kwargs]))

    optimizer.register_step_pre_hook(look)
    optimizer.register_step_post_hook(look)
    optimizer.step()
    optimizer.step(lambda: 3)
    optimizer.step(closure=lambda: 4)
    return seen


def a_hook_changes_the_call(t):
    optimizer = t.optim.SGD([parameter(t)], lr=0.1)
    optimizer.register_step_pre_hook(lambda o, a, k: ((a[0], lambda: 7), {}))
    return optimizer.step()


def a_hook_returns_something_else(t):
    optimizer = t.optim.SGD([parameter(t)], lr=0.1)
    optimizer.register_step_pre_hook(lambda o, a, k: 3)
    try:
        optimizer.step()
    except RuntimeError as error:
        return str(error).partition(" must return ")[2]


def a_closure_runs_with_gradients(t):
    p = parameter(t)
    found = []
    for kind in ("SGD", "Adam", "LBFGS"):
        optimizer = getattr(t.optim, kind)([p], lr=0.1)

        def closure(optimizer=optimizer):
            found.append(t.is_grad_enabled())
            optimizer.zero_grad()
            loss = (p * p).sum()
            loss.backward()
            return loss

        with t.no_grad():
            found.append(optimizer.step(closure).item())
            found.append(t.is_grad_enabled())
    return found


def hooks_of_states(t):
    optimizer, seen = t.optim.SGD([parameter(t)], lr=0.1), []

    def after(chosen, state):
        seen.append(sorted(state))
        return {**state, "extra": 1}

    optimizer.register_state_dict_post_hook(after)
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("second"))
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("first"), prepend=True)
    return optimizer.state_dict(), seen


def hooks_of_loading(t):
    optimizer, seen = t.optim.SGD([parameter(t)], lr=0.1), []

    def before(chosen, state):
        groups = [{**group, "lr": 9.0} for group in state["param_groups"]]
        return {**state, "param_groups": groups}

    optimizer.register_load_state_dict_pre_hook(before)
    optimizer.register_load_state_dict_pre_hook(
        lambda o, s: seen.append(s["param_groups"][0]["lr"]), prepend=True
    )
    post = optimizer.register_load_state_dict_post_hook
    post(lambda o: seen.append(o.param_groups[0]["lr"]))
    handle = post(lambda o: seen.append("never"), prepend=True)
    handle.remove()
    state = optimizer.state_dict()
    optimizer.load_state_dict(state)
    return seen, state


def loading_casts(t):
    source = t.optim.Adam([parameter(t)])
    stepped(t, source)
    p = parameter(t).detach().double().requires_grad_()
    optimizer = t.optim.Adam([p])
    state = source.state_dict()
    state["state"]["other"] = [1, 2]
    state["state"][0]["nested"] = {"a": [t.ones(1)], "b": 3}
    optimizer.load_state_dict(state)
    return optimizer.state[p], optimizer.state["other"]


def loading_shares_memory_that_fits(t):
    source = t.optim.Adam([parameter(t)])
    stepped(t, source)
    state = source.state_dict()
    p = parameter(t)
    optimizer = t.optim.Adam([p])
    optimizer.load_state_dict(state)
    optimizer.param_groups[0]["lr"] = 5.0
    return (
        optimizer.state[p]["exp_avg"] is state["state"][0]["exp_avg"],
        state["param_groups"][0]["lr"],
    )


def names_stay(t):
    def named():
        return t.optim.SGD([("w", parameter(t)), ("b", parameter(t))], lr=0.1)

    optimizer, other = named(), named()
    state = other.state_dict()
    state["param_groups"][0]["param_names"] = ["x", "y"]
    optimizer.load_state_dict(state)
    first = optimizer.param_groups[0]["param_names"]
    del state["param_groups"][0]["param_names"]
    optimizer.load_state_dict(state)
    return first, optimizer.param_groups[0]["param_names"], repr(optimizer)


def some_names_missing(t):
    t.optim.SGD([("w", parameter(t)), parameter(t)], lr=0.1)


def groups_with_and_without_names(t):
    optimizer = t.optim.SGD([("w", parameter(t))], lr=0.1)
    optimizer.add_param_group({"params": [parameter(t)]})


def groups_without_and_with_names(t):
    optimizer = t.optim.SGD([parameter(t)], lr=0.1)
    optimizer.add_param_group({"params": [("w", parameter(t))]})


def a_parameter_twice(t):
    p = parameter(t)
    return len(t.optim.SGD([p, p], lr=0.1).param_groups[0]["params"])


def a_group_that_is_no_dict(t):
    optimizer = t.optim.SGD([parameter(t)], lr=0.1)
    optimizer.add_param_group([parameter(t)])


def a_group_from_a_generator(t):
    optimizer = t.optim.SGD([parameter(t)], lr=0.1)
    optimizer.add_param_group({"params": (parameter(t) for _ in range(2)), "lr": 3.0})
    optimizer.add_param_group({"params": parameter(t)})
    return [len(group["params"]) for group in optimizer.param_groups], repr(optimizer)


def a_required_option(t):
    required = base_module(t).required
    optimizer = t.optim.Optimizer
    optimizer([{"params": [parameter(t)], "lr": 1}], {"lr": required})
    optimizer([parameter(t)], {"lr": required})


def the_base_does_not_step(t):
    t.optim.Optimizer([parameter(t)], {}).step()


def an_optimizer_of_the_user(t):
    class Signs(t.optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        @t.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    p.add_(p.grad.sign(), alpha=-group["lr"])
                    self.state[p]["seen"] = self.state[p].get("seen", 0) + 1

    p = parameter(t)
    optimizer, seen = Signs([p], 0.5), []
    optimizer.register_step_post_hook(lambda o, a, k: seen.append(o.state[p]["seen"]))
    scheduler = t.optim.lr_scheduler.StepLR(optimizer, 1)
    for _ in range(3):
        stepped(t, optimizer)
        scheduler.step()
    return p, seen, optimizer.state_dict()


def an_intermediate_tensor(t):
    inner = parameter(t) * 2
    inner.retain_grad()
    t.optim.SGD([inner], lr=0.1)
    t.optim.SGD([parameter(t) * 2], lr=0.1, differentiable=True)
    t.optim.SGD([parameter(t) * 2], lr=0.1)


def an_odd_member(t):
    t.optim.SGD([parameter(t), "weight"], lr=0.1)


PROGRAMS = [
    value
    for name, value in list(globals().items())
    if callable(value)
    and getattr(value, "__module__", "") == __name__
    and name not in ("parameter", "stepped", "base_module")
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_same_as_pytorch(program):
    assert_same(program)


# ---- steps that are differentiated ------------------------------------------------

STATEFUL = {
    "SGD": {"momentum": 0.9, "weight_decay": 0.1},
    "Adam": {"amsgrad": True, "weight_decay": 0.1},
    "AdamW": {"weight_decay": 0.1},
    "Adamax": {"weight_decay": 0.1},
    "NAdam": {"weight_decay": 0.1},
    "RAdam": {"weight_decay": 0.1},
    "Adadelta": {"weight_decay": 0.1},
    "Adagrad": {"weight_decay": 0.1},
    "RMSprop": {"momentum": 0.9, "weight_decay": 0.1},
    "Rprop": {},
    "ASGD": {"weight_decay": 0.1},
}


@pytest.mark.parametrize("name", STATEFUL)
def test_gradients_flow_through_a_step(name):
    def program(t):
        start = t.tensor([0.3, -0.7, 1.1], dtype=t.float64, requires_grad=True)
        grad = t.tensor([0.5, 0.4, -0.2], dtype=t.float64, requires_grad=True)
        p = start.clone()
        optimizer = getattr(t.optim, name)(
            [p], lr=0.1, differentiable=True, **STATEFUL[name]
        )
        p.grad = grad * 2
        optimizer.step()
        (p**3).sum().backward()
        return p.detach(), start.grad, grad.grad, p.requires_grad

    assert_same(program, rtol=1e-7)


TENSOR_OPTIONS = [
    ("SGD", ("lr",), {}),
    ("SGD", ("lr", "weight_decay"), {"momentum": 0.9}),
    ("Adam", ("lr",), {}),
    ("Adam", ("lr", "weight_decay"), {}),
    ("AdamW", ("lr", "weight_decay"), {}),
]


@pytest.mark.parametrize(("name", "names", "options"), TENSOR_OPTIONS, ids=str)
def test_gradients_flow_to_options(name, names, options):
    def program(t):
        chosen = {
            each: t.tensor(0.1 * (1 + number), dtype=t.float64, requires_grad=True)
            for number, each in enumerate(names)
        }
        p = t.tensor([0.3, -0.7], dtype=t.float64, requires_grad=True).clone()
        p.grad = t.tensor([0.5, 0.4], dtype=t.float64)
        optimizer = getattr(t.optim, name)(
            [p], differentiable=True, **chosen, **options
        )
        optimizer.step()
        (p**2).sum().backward()
        return p.detach(), [each.grad for each in chosen.values()]

    assert_same(program, rtol=1e-7)


# ---- what PyTorch cannot show -----------------------------------------------------


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("name", BUILT_IN)
def test_optimizers_are_freed_without_the_collector(name):
    p = parameter(gt)
    optimizer = getattr(gt.optim, name)([p])
    stepped(gt, optimizer)
    freed = [weakref.ref(optimizer), weakref.ref(p)]
    del optimizer, p
    assert [each() for each in freed] == [None, None]


@pytest.mark.parametrize("name", BUILT_IN)
def test_optimizers_pickle(name):
    optimizer = getattr(gt.optim, name)([parameter(gt)])
    stepped(gt, optimizer)
    twin = pickle.loads(pickle.dumps(optimizer))
    for each in (optimizer, twin):
        stepped(gt, each)
    (ours,), (theirs,) = (o.param_groups[0]["params"] for o in (optimizer, twin))
    assert ours.tolist() == theirs.tolist()
    assert repr(twin) == repr(optimizer)
    assert str(twin.state_dict()) == str(optimizer.state_dict())


def test_a_copy_has_hooks_of_its_own():
    optimizer = gt.optim.SGD([parameter(gt)], lr=0.1)
    seen = []
    optimizer.register_step_post_hook(lambda o, a, k: seen.append("hook"))
    copy.deepcopy(optimizer).step()
    assert seen == []


def test_the_version_tells_a_stale_graph():
    p = parameter(gt)
    loss = (p * p).sum()
    optimizer = gt.optim.Adagrad([p])
    p.grad = gt.ones(2)
    optimizer.step()
    with pytest.raises(RuntimeError, match=r"Adagrad\.step at .* made version 1"):
        loss.backward()
