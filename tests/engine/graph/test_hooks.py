"""Hooks on tensors and nodes, side by side with PyTorch."""

from __future__ import annotations

from collections import OrderedDict

import pytest

import gradtape as gt

from ..oracle import assert_same


def tensor_hook_replaces(t):
    x = t.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    return x.grad


def tensor_hook_writes_a_sums_gradient(t):
    x = t.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2

    def block(grad):
        grad[0] = 0.0  # one cell, seen in both places

    y.register_hook(block)
    y.sum().backward()
    return x.grad


def leaf_hook(t):
    x = t.tensor([1.0, 2.0], requires_grad=True)
    seen = []
    x.register_hook(lambda g: seen.append(g.tolist()))
    (x * x).sum().backward()
    return x.grad, seen


def leaf_hook_sees_the_sum(t):
    x = t.tensor([1.0], requires_grad=True)
    seen = []
    x.register_hook(lambda g: seen.append(g.tolist()))
    (x * 2 + x * 3).sum().backward()
    return seen


def order_of_hooks(t):
    x = t.tensor([1.0], requires_grad=True)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append("tensor"))
    y.grad_fn.register_prehook(lambda g: seen.append("pre"))
    y.grad_fn.register_hook(lambda i, o: seen.append("post"))
    x.register_hook(lambda g: seen.append("leaf"))
    x.register_post_accumulate_grad_hook(lambda p: seen.append("accumulated"))
    y.sum().backward()
    return seen


def handle_removes(t):
    x = t.tensor([1.0], requires_grad=True)
    handle = x.register_hook(lambda g: g * 10)
    handle.remove()
    handle.remove()
    x.exp().sum().backward()
    return x.grad.item() < 3


def handle_in_with(t):
    x = t.tensor([1.0], requires_grad=True)
    with x.register_hook(lambda g: g * 10):
        (x * 1).sum().backward()
    (x * 1).sum().backward()
    return x.grad


def hook_on_old_value_before_inplace(t):
    x = t.tensor([1.0], requires_grad=True)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.mul_(5)
    y.sum().backward()
    return seen, x.grad


def retain_grad_sees_the_hooked_gradient(t):
    x = t.tensor([1.0], requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    return y.grad


def hook_changes_the_shape(t):
    x = t.ones(2, requires_grad=True)
    x.register_hook(lambda g: g[:1])
    (x * 2).sum().backward()


def hook_needs_grad(t):
    t.ones(2).register_hook(lambda g: g)


def post_hook_replaces_grad_inputs(t):
    x = t.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 100, inputs[1]))
    y.sum().backward()
    return x.grad


def prehook_replaces_grad_outputs(t):
    x = t.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 100,))
    y.sum().backward()
    return x.grad


def post_accumulate_hook_may_step(t):
    x = t.tensor([1.0], requires_grad=True)

    def step(p):
        with t.no_grad():
            p -= 0.5 * p.grad
        p.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * 2).sum().backward()
    return x, x.grad


def hooks_run_with_create_graph(t):
    x = t.tensor([2.0], requires_grad=True)
    y = x * x
    y.register_hook(lambda g: g * 3)
    (g,) = t.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = t.autograd.grad(g.sum(), x)
    return g.tolist(), h


# ---- tensors that are written ----


def old_and_new_value(t):
    x, seen = t.tensor([1.0, 2.0], requires_grad=True), []
    y = x * 1
    y.register_hook(lambda g: seen.append(("old", g.tolist())))
    y.mul_(3)
    y.register_hook(lambda g: seen.append(("new", g.tolist())))
    y.sum().backward()
    return seen


def a_view_of_a_written_base(t):
    found = []
    for asked in (True, False):
        x, seen = t.tensor([1.0, 2.0], requires_grad=True), []
        base = x * 1
        view = base[:1]
        view.register_hook(lambda g, seen=seen: seen.append("before"))
        base.mul_(2)
        if asked:
            assert view.grad_fn
        view.register_hook(lambda g, seen=seen: seen.append("after"))
        (view.sum() + base.sum()).backward()
        found += [seen, x.grad]
    return found


def retained_through_a_write(t):
    x = t.tensor([1.0, 2.0], requires_grad=True)
    base = x * 1
    view = base[:1]
    base.retain_grad()
    view.retain_grad()
    base.mul_(2)
    (view.sum() * 3 + base.sum()).backward()
    return view.grad, base.grad, x.grad


def retained_twice(t):
    x = t.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.retain_grad()
    z = y.sum()
    z.backward(retain_graph=True)
    first = y.grad
    z.backward()
    return first is y.grad, first, y.grad


def retained_lies_in_rows(t):
    y = (t.ones(2, 3, requires_grad=True) * 2).t() * 1
    y.retain_grad()
    (y.t() * t.ones(2, 3)).sum().backward()
    return y.grad.stride()


# ---- tables and handles ----


def tables(t):
    x = t.tensor([1.0], requires_grad=True)
    y = x * 2
    before = [x._backward_hooks, y._backward_hooks]
    x.register_hook(abs)
    y.register_hook(abs)
    return before, [type(each._backward_hooks).__name__ for each in (x, y)]


def a_handle_and_further_tables(t):
    first, second = OrderedDict(), OrderedDict()
    handle = t.utils.hooks.RemovableHandle(first, extra_dict=second)
    first[handle.id] = second[handle.id] = abs
    with handle:
        inside = len(first), len(second)
    return inside, len(first), len(second)


def a_handle_of_a_plain_dict(t):
    t.utils.hooks.RemovableHandle({})


PROGRAMS = [
    value
    for name, value in list(globals().items())
    if callable(value) and getattr(value, "__module__", "") == __name__
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_same_as_pytorch(program):
    assert_same(program)


def test_failing_observer_is_removed_with_a_warning():
    def fail(event):
        raise ValueError("broken")

    gt.observe(fail)
    with pytest.warns(RuntimeWarning, match="was removed: ValueError: broken"):
        gt.ones(1) * 2
    gt.ones(1) * 2  # silent: nobody listens any more
