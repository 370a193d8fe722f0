"""backward() and autograd.grad(), side by side with PyTorch."""

from __future__ import annotations

import weakref

import pytest

import gradtape as gt

from ..oracle import assert_same

# Each program takes the module, gradtape or torch, and returns what is compared.


def fan_out(t):
    x = t.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    (y * y + y).sum().backward()
    return x.grad, y, y.is_leaf


def diamond(t):
    x = t.tensor(2.0, requires_grad=True)
    a, b = x * 3, x.exp()
    (a * b).backward()
    return x.grad


def broadcast(t):
    x = t.ones(3, 1, requires_grad=True)
    y = t.ones(4, requires_grad=True)
    (x * y).sum().backward()
    return x.grad, y.grad


def total_of_one(t):
    given, x = t.tensor(2.0), t.ones(1, requires_grad=True)
    seen = []
    (y := x * 1).register_hook(seen.append)
    (y.sum() + x.mean()).backward(given)
    x.grad.mul_(5)
    return given, x.grad, seen[0].stride(), seen[0].tolist()


def gradient_given(t):
    x = t.tensor([1.0, 2.0], requires_grad=True)
    (x * x).backward(t.tensor([1.0, 10.0]))
    return x.grad


def accumulates(t):
    x = t.tensor([1.0, 2.0], requires_grad=True)
    for _ in range(3):
        (x * x).sum().backward()
    return x.grad


def twice(t):
    x = t.tensor([1.0], requires_grad=True)
    y = x.exp()
    y.sum().backward()
    y.sum().backward()


def twice_without_saved_tensors(t):
    x = t.tensor([1.0], requires_grad=True)
    y = x + 1
    y.sum().backward()
    y.sum().backward()
    return x.grad


def twice_retained(t):
    x = t.tensor([1.0], requires_grad=True)
    y = (x.exp()).sum()
    y.backward(retain_graph=True)
    y.backward()
    return x.grad


def not_scalar(t):
    t.ones(2, requires_grad=True).exp().backward()


def no_graph(t):
    t.ones(2).sum().backward()


def wrong_gradient_shape(t):
    x = t.ones(2, requires_grad=True)
    (x * 2).backward(t.ones(3))


def grad_of_grad(t):
    x = t.tensor([1.0, 2.0], requires_grad=True)
    (g,) = t.autograd.grad((x * x * x).sum(), x, create_graph=True)
    (h,) = t.autograd.grad(g.sum(), x)
    return g.requires_grad, g.tolist(), h


def third_order(t):
    x = t.tensor(0.5, requires_grad=True)
    y = x.exp() * x
    for _ in range(3):
        (y,) = t.autograd.grad(y, x, create_graph=True)
    return y.tolist()


def unused(t):
    x, z = t.ones(2, requires_grad=True), t.ones(2, requires_grad=True)
    return t.autograd.grad((x * 2).sum(), [x, z])


def unused_allowed(t):
    x, z = t.ones(2, requires_grad=True), t.ones(2, requires_grad=True)
    return t.autograd.grad((x * 2).sum(), [x, z], allow_unused=True)


def unused_materialized(t):
    x, z = t.ones(2, requires_grad=True), t.ones(2, requires_grad=True)
    return t.autograd.grad((x * 2).sum(), [x, z], materialize_grads=True)


def grad_leaves_dot_grad_alone(t):
    x = t.ones(2, requires_grad=True)
    t.autograd.grad((x * 2).sum(), x)
    return x.grad


def grad_of_intermediate(t):
    x = t.ones(2, requires_grad=True)
    y = x * 2
    return t.autograd.grad((y * y).sum(), [y, x])


def backward_with_inputs(t):
    x, w = t.ones(2, requires_grad=True), t.ones(2, requires_grad=True)
    (x * w).sum().backward(inputs=[x])
    return x.grad, w.grad


def several_roots(t):
    x = t.tensor([1.0, 2.0], requires_grad=True)
    y, z = (x * 2).sum(), (x * x).sum()
    t.autograd.backward([y, z])
    return x.grad


def same_root_twice(t):
    x = t.tensor([3.0], requires_grad=True)
    y = x.exp()
    t.autograd.backward([y, y])
    return x.grad


def leaf_as_root(t):
    x = t.tensor(3.0, requires_grad=True)
    x.backward()
    return x.grad


def input_needs_no_grad(t):
    x = t.ones(2)
    y = t.ones(2, requires_grad=True)
    return t.autograd.grad((x * y).sum(), x)


def detached_branch(t):
    x = t.tensor([1.0, 2.0], requires_grad=True)
    (x.detach() * x).sum().backward()
    return x.grad


def under_no_grad(t):
    x = t.ones(2, requires_grad=True)
    with t.no_grad():
        return x * 2


def retained(t):
    x = t.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.retain_grad()
    (y * y).sum().backward()
    return y.grad, y.retains_grad, x.grad


def grad_of_non_leaf_warns(t):
    x = t.ones(2, requires_grad=True)
    y = x * 2
    y.sum().backward()
    return y.grad


def requires_grad_of_integers(t):
    return t.ones(2, dtype=t.int64).requires_grad_()


def requires_grad_off_for_non_leaf(t):
    y = t.ones(2, requires_grad=True) * 2
    y.requires_grad = False


def grad_of_wrong_shape_assigned(t):
    x = t.ones(2, requires_grad=True)
    x.grad = t.ones(3)


def grad_dtype_of_promoted_input(t):
    x = t.ones(2, dtype=t.float32, requires_grad=True)
    y = t.ones(2, dtype=t.float64, requires_grad=True)
    (x * y).sum().backward()
    return x.grad, y.grad


def gradient_layout_follows_the_leaf(t):
    x = t.ones(3, 2).t().detach().requires_grad_()
    (x * t.ones(2, 3)).sum().backward()
    return x.grad


def create_graph_on_backward(t):
    t.set_warn_always(True)  # else the warning comes once per process
    x = t.tensor([2.0], requires_grad=True)
    (x * x * x).sum().backward(create_graph=True)
    t.set_warn_always(False)
    first = x.grad
    return first.requires_grad, first.tolist()


PROGRAMS = [
    value
    for name, value in list(globals().items())
    if callable(value) and getattr(value, "__module__", "") == __name__
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_same_as_pytorch(program):
    assert_same(program)


def test_leaf_gradients_never_share_memory():
    x, y = gt.ones(5000, requires_grad=True), gt.ones(5000, requires_grad=True)
    (x + y).sum().backward()
    assert x.grad.data_ptr() != y.grad.data_ptr()
    x.grad.zero_()
    assert float(y.grad.sum()) == 5000


def test_gradient_given_by_the_user_is_not_taken_over():
    x = gt.ones(5000, requires_grad=True)
    given = gt.ones(5000)
    (x + 0).backward(given)
    x.grad.zero_()
    assert float(given.sum()) == 5000


def test_large_gradients_that_meet_are_summed_once_each():
    x = gt.ones(5000, requires_grad=True)
    y = x * 2
    (y + y + y + y.exp() * 0).sum().backward()
    assert x.grad[0].item() == 6


def test_deep_chain_needs_no_recursion():
    x = gt.ones(1, requires_grad=True)
    y = x
    for _ in range(50_000):
        y = y + 1
    y.backward()
    assert x.grad.item() == 1
    del y  # freed without recursion too


@pytest.mark.usefixtures("no_collector")
def test_graph_is_freed_with_the_last_tensor():
    x = gt.ones(3, requires_grad=True)
    y = (x.exp() * x).sum()
    node = weakref.ref(y.grad_fn)
    y.backward()
    del y
    assert node() is None


def test_freed_graph_keeps_no_activation():
    x = gt.ones(3, requires_grad=True)
    hidden = x.exp()
    kept = weakref.ref(hidden._storage)
    loss = (hidden * x).sum()
    del hidden
    assert kept() is not None
    loss.backward()
    assert kept() is None


def test_error_says_which_line_recorded_the_node():
    x = gt.ones(3, requires_grad=True)
    y = x.exp()
    y.add_(1)
    loss = y.sum()
    with pytest.raises(RuntimeError, match="modified by an inplace") as caught:
        loss.backward()
    notes = "\n".join(caught.value.__notes__)
    assert "add_" in notes
    assert "test_backward.py" in notes
