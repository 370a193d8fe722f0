"""Optimizers, step by step beside PyTorch's."""

from __future__ import annotations

import importlib
import itertools

import pytest

import gradtape as gt

from ..oracle import assert_same

SETTINGS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1, "amsgrad": True}),
    ("Adam", {"lr": 0.1, "maximize": True}),
    ("AdamW", {"lr": 0.1}),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.5, "amsgrad": True}),
    ("Adadelta", {"lr": 2.0}),
    ("Adafactor", {"lr": 0.1}),
    ("Adagrad", {"lr": 0.5}),
    ("Adamax", {"lr": 0.1}),
    ("ASGD", {"lr": 0.1, "t0": 4}),
    ("NAdam", {"lr": 0.1}),
    ("RAdam", {"lr": 0.1}),
    ("RMSprop", {"lr": 0.1, "centered": True}),
    ("Rprop", {"lr": 0.1}),
]


def trained(t, name, options, steps=10):
    weights = t.tensor([[1.0, -2.0], [0.5, 3.0]], requires_grad=True)
    bias = t.tensor([0.1, 0.2], requires_grad=True)
    data = t.tensor([[1.0, 2.0], [3.0, -4.0], [0.5, 0.5]])
    optimizer = getattr(t.optim, name)([weights, bias], **options)
    path = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = ((data @ weights + bias) ** 2).mean()
        loss.backward()
        optimizer.step()
        path.append((loss.item(), weights.tolist(), bias.tolist()))
    return path, weights._version, repr(optimizer)


@pytest.mark.parametrize(("name", "options"), SETTINGS, ids=lambda v: str(v))
def test_every_step_gives_the_same_numbers(name, options):
    assert_same(lambda t: trained(t, name, options), rtol=2e-4)


def parameter(t):
    return t.tensor([1.0, 2.0], requires_grad=True)


ERRORS = {
    "no parameters": lambda t: t.optim.SGD([], lr=0.1),
    "a tensor": lambda t: t.optim.SGD(parameter(t), lr=0.1),
    "a number": lambda t: t.optim.SGD([3], lr=0.1),
    "a set": lambda t: t.optim.SGD([{"params": {parameter(t)}}], lr=0.1),
    "a non-leaf": lambda t: t.optim.SGD([parameter(t) * 2], lr=0.1),
    "negative lr": lambda t: t.optim.SGD([parameter(t)], lr=-1),
    "negative momentum": lambda t: t.optim.SGD([parameter(t)], momentum=-1),
    "negative decay": lambda t: t.optim.SGD([parameter(t)], weight_decay=-1),
    "nesterov alone": lambda t: t.optim.SGD([parameter(t)], nesterov=True),
    "beta": lambda t: t.optim.Adam([parameter(t)], betas=(1.0, 0.9)),
    "eps": lambda t: t.optim.Adam([parameter(t)], eps=-1.0),
}


@pytest.mark.parametrize("program", ERRORS.values(), ids=ERRORS.keys())
def test_same_error_as_pytorch(program):
    assert_same(program)


def in_two_groups(t):
    p = parameter(t)
    t.optim.SGD([{"params": [p]}, {"params": [p]}], lr=0.1)


def groups_with_options(t):
    a, b = parameter(t), parameter(t)
    optimizer = t.optim.SGD([{"params": [a]}, {"params": b, "lr": 1.0}], lr=0.1)
    (a * b).sum().backward()
    optimizer.step()
    return a, b, len(optimizer.param_groups), repr(optimizer)


def closure(t):
    p = parameter(t)
    optimizer = t.optim.SGD([p], lr=0.1)

    def loss():
        optimizer.zero_grad()
        value = (p * p).sum()
        value.backward()
        return value

    return optimizer.step(loss), p


def zero_grad_in_place(t):
    p = parameter(t)
    optimizer = t.optim.SGD([p], lr=0.1)
    (p * p).sum().backward()
    optimizer.zero_grad(set_to_none=False)
    kept = p.grad.tolist()
    optimizer.zero_grad()
    return kept, p.grad


def parameters_without_gradient_stay(t):
    a, b = parameter(t), parameter(t)
    optimizer = t.optim.Adam([a, b])
    (a * 2).sum().backward()
    optimizer.step()
    return a, b, b._version, len(optimizer.state)


def state_survives_a_round_trip(t):
    path = []
    p = parameter(t)
    optimizer = t.optim.Adam([p], lr=0.1)
    for turn in range(4):
        if turn == 2:
            state = optimizer.state_dict()
            optimizer = t.optim.Adam([p], lr=99)
            optimizer.load_state_dict(state)
        optimizer.zero_grad()
        (p * p).sum().backward()
        optimizer.step()
        path.append(p.tolist())
    return path, optimizer.state_dict()


def other_number_of_groups(t):
    state = t.optim.SGD([parameter(t)], lr=0.1).state_dict()
    two = [{"params": [parameter(t)]}, {"params": [parameter(t)]}]
    t.optim.SGD(two, lr=0.1).load_state_dict(state)


def other_group_size(t):
    state = t.optim.SGD([parameter(t)], lr=0.1).state_dict()
    t.optim.SGD([parameter(t), parameter(t)], lr=0.1).load_state_dict(state)


def step_hooks(t):
    p = parameter(t)
    optimizer = t.optim.SGD([p], lr=0.1)
    seen = []
    optimizer.register_step_pre_hook(lambda o, a, k: seen.append("before"))
    handle = optimizer.register_step_post_hook(lambda o, a, k: seen.append("after"))
    p.sum().backward()
    optimizer.step()
    handle.remove()
    optimizer.step()
    return seen


def named_parameters(t):
    p = parameter(t)
    optimizer = t.optim.SGD([("weight", p)], lr=0.1)
    return optimizer.param_groups[0]["param_names"]


def saved_weight_is_stepped_before_backward(t):
    p = parameter(t)
    loss = (p.exp() * p).sum()
    other = (p * 2).sum()
    optimizer = t.optim.SGD([p], lr=0.1)
    other.backward()
    optimizer.step()
    loss.backward()


def an_optimizer_written_as_pytorchs(t):
    base = importlib.import_module(f"{t.__name__}.optim.optimizer")

    class Plain(t.optim.Optimizer):
        @base._use_grad_for_differentiable
        def step(self, closure=None):
            for group in self.param_groups:
                rate = base._get_value(base._to_scalar(group["lr"]))
                params = [p for p in group["params"] if p.grad is not None]
                grads = [p.grad for p in params]
                base._view_as_real(params, grads)
                for p, grad in zip(params, grads, strict=True):
                    p.add_(grad, alpha=-rate)

    found = []
    for differentiable in (False, True):
        start = parameter(t)
        p = start.clone() if differentiable else start
        z = t.view_as_complex(t.ones(2, 2)).requires_grad_(not differentiable)
        p.grad, z.grad = t.ones(2), t.ones_like(z)
        options = {"lr": t.tensor([0.5]), "differentiable": differentiable}
        Plain([p, z], options).step()
        found.append((p, t.view_as_real(z)))
    return found, base._get_scalar_dtype()


def a_scheduler_written_as_pytorchs(t):
    base = importlib.import_module(f"{t.__name__}.optim.lr_scheduler")

    class Twice(base._LRScheduler):
        def get_lr(self):
            base._warn_get_lr_called_within_step(self)
            rates = base._param_groups_val_list(self.optimizer, "lr")
            return [2 * rate for rate in rates]

    optimizer = t.optim.SGD([parameter(t)], lr=0.5)
    scheduler = Twice(optimizer)
    with base._enable_get_lr_call(scheduler):
        inside = scheduler.get_lr()
    base._update_param_group_val(optimizer.param_groups[0], "lr", 3.0)
    return inside, scheduler.get_lr(), base._format_param("x", optimizer, 4)


PROGRAMS = [
    an_optimizer_written_as_pytorchs,
    a_scheduler_written_as_pytorchs,
    in_two_groups,
    groups_with_options,
    closure,
    zero_grad_in_place,
    parameters_without_gradient_stay,
    state_survives_a_round_trip,
    other_number_of_groups,
    other_group_size,
    step_hooks,
    named_parameters,
    saved_weight_is_stepped_before_backward,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_same_as_pytorch(program):
    assert_same(program, rtol=2e-4)


def test_the_write_log_names_the_step_and_its_line():
    p = gt.tensor([1.0], requires_grad=True)
    optimizer = gt.optim.SGD([p], lr=0.1)
    (p * p).sum().backward()
    optimizer.step()
    (write,) = p._storage.writes
    assert write.op == "SGD.step"
    assert write.site is not None
    assert write.site[0].co_filename == __file__


def test_observers_hear_of_the_step():
    p = gt.tensor([1.0], requires_grad=True)
    optimizer = gt.optim.SGD([p], lr=0.1)
    (p * p).sum().backward()
    heard = []
    with gt.observe(lambda event: heard.append(type(event).__name__)):
        optimizer.step()
    assert list(itertools.filterfalse("GradModeSwitched".__eq__, heard)) == [
        "StorageWritten",
        "OptimizerStepped",
    ]
