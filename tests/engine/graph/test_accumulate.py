"""How ``.grad`` takes in gradients: memory, layout and dtype, beside PyTorch."""

from __future__ import annotations

import warnings
from contextlib import contextmanager

import pytest

import gradtape as gt
from gradtape._storage import ownership as _ownership

from ..oracle import assert_same


@contextmanager
def ignored():
    """Silence what PyTorch says once per process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def layouts(t):
    found = []
    for x in (
        t.ones(3, 2).t(),
        t.ones(3, 4)[:, ::2],
        t.ones(1).expand(3),
        t.ones(3, 1, 2).permute(2, 1, 0),
        t.ones(0, 3),
        t.tensor(1.0),
    ):
        x = x.detach().requires_grad_()
        (x * 2).sum().backward()
        first = x.grad.stride()
        (x * 3).sum().backward()
        found += [first, x.grad]
    return found


def gradient_lies_otherwise_than_the_leaf(t):
    x = t.ones(2, 3, requires_grad=True)
    (x.permute(1, 0) * t.ones(3, 2)).exp().sum().backward()
    return x.grad


def expanded_gradient(t):
    x = t.ones(3, requires_grad=True)
    x.backward(t.ones(1).expand(3))
    return x.grad


def in_place_where_nothing_is_recorded(t):
    x = t.tensor([1.0, 2.0], requires_grad=True)
    (x * 2).sum().backward()
    grad = x.grad
    (x * 2).sum().backward()
    return grad is x.grad, grad, grad._version


def out_of_place_where_a_graph_is_made(t):
    x = t.tensor([1.0, 2.0], requires_grad=True)
    x.grad = given = t.ones(2)
    with ignored():
        (x * x).sum().backward(create_graph=True)
    found = [given is x.grad, given, x.grad.grad_fn.name()]
    x.grad = None
    with ignored():
        (x * x).sum().backward(create_graph=True)
    found.append(x.grad.grad_fn.name())
    x.grad = None
    return found


def a_graph_for_a_leaf_with_gaps(t):
    x = t.ones(2, 2)[:, :1].requires_grad_()
    with ignored():
        (x * x).sum().backward(create_graph=True)
    found = x.grad.grad_fn.name(), x.grad.stride()
    x.grad = None
    return found


def grad_is_a_view(t):
    x, base = t.tensor([1.0, 2.0], requires_grad=True), t.zeros(2, 2)
    x.grad = base[0]
    (x * 2).sum().backward()
    return base, x.grad._version, base._version


def grad_has_gaps(t):
    x, base = t.tensor([1.0, 2.0], requires_grad=True), t.zeros(4)
    x.grad = base[::2]
    (x * 2).sum().backward()
    return base, x.grad.stride()


def two_leaves_share_a_grad(t):
    x, w, shared = t.ones(1, requires_grad=True), t.ones(1, requires_grad=True), None
    shared = x.grad = w.grad = t.zeros(1)
    (x * 2 + w * 3).backward()
    return shared


def grad_repeats_one_cell(t):
    x = t.ones(2, requires_grad=True)
    x.grad = t.ones(1).expand(2)
    (x * x).sum().backward()


def grad_with_history(t):
    x = t.ones(2, requires_grad=True)
    x.grad = grad = t.ones(2, requires_grad=True) * 2
    (x * 2).sum().backward()
    return x.grad is grad, grad


def grad_of_a_chosen_dtype(t):
    found = []
    for dtype in (t.float64, None):
        x = t.ones(2, requires_grad=True)
        y = x * 2
        x.grad_dtype = dtype
        y.sum().backward()
        (x * 3).sum().backward()
        found += [x.grad, str(x.grad_dtype)]
    return found


def leaf_of_another_precision(t):
    x = t.ones(2, dtype=t.float16, requires_grad=True)
    (x.float() * 2).sum().backward()
    return x.grad


def switched_off_before_backward(t):
    x = t.ones(1, requires_grad=True)
    y = x * 2
    x.requires_grad_(False)
    y.backward()
    return x.grad


def a_written_leaf_still_takes_its_gradient(t):
    x = t.ones(2, requires_grad=True)
    y = (x * 2).sum()
    with t.no_grad():
        x.add_(1)
    y.backward()
    return x.grad


def a_user_keeps_the_gradient_given(t):
    x, given = t.ones(3000, requires_grad=True), t.ones(3000)
    t.autograd.backward([x, x], [given, given])
    x.grad.zero_()
    return given[0].item(), x.grad.data_ptr() == given.data_ptr()


def a_hook_keeps_the_gradient(t):
    x, kept = t.ones(2000, requires_grad=True), []
    x.register_hook(lambda g: kept.append(g))
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    values = [kept[0][0].item(), kept[1][0].item(), x.grad[0].item()]
    return values, x.grad.data_ptr() == kept[0].data_ptr()


def a_function_hands_one_gradient_to_two_leaves(t):
    class Sum(t.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, grad):
            Sum.pointer = grad.data_ptr()
            return grad, grad

    a, b = t.ones(5, 6, requires_grad=True), t.ones(5, 6, requires_grad=True)
    Sum.apply(a, b)[1][0].backward()
    return [each.grad.data_ptr() == Sum.pointer for each in (a, b)]


def a_function_keeps_what_it_returned(t):
    class Kept(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            Kept.grad = grad * 2
            return Kept.grad

    x = t.ones(2000, requires_grad=True)
    Kept.apply(x).sum().backward()
    x.grad.zero_()
    return Kept.grad[0].item()


PROGRAMS = [
    value
    for name, value in list(globals().items())
    if callable(value)
    and getattr(value, "__module__", "") == __name__
    and name != "ignored"
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_same_as_pytorch(program):
    assert_same(program)


def test_gradients_that_nobody_else_sees_are_not_copied(monkeypatch):
    kept = []
    only_ours = _ownership.is_only_ours

    def ask(array, others=0):
        found = only_ours(array, others + 1)  # this function refers to it too
        kept.append(found)
        return found

    monkeypatch.setattr("gradtape._engine.accumulate.is_only_ours", ask)
    x = gt.ones(50, 60, requires_grad=True)
    w = gt.ones(60, 3, requires_grad=True)
    (x @ w).exp().sum().backward()
    assert kept == [True, True]


def test_references_are_counted_on_views_too():
    whole = gt.ones(4)._data.copy()
    part = whole[:2]
    assert not _ownership.is_only_ours(part)
    del whole
    assert _ownership.is_only_ours(part)
    other = part
    assert not _ownership.is_only_ours(part)
    del other


def test_two_tensors_over_one_memory_get_gradients_of_their_own():
    x = gt.tensor([1.0, 2.0], requires_grad=True)
    y = x.detach().requires_grad_()
    first, second = gt.autograd.grad((x * y).sum(), (x, y))
    first.add_(5)
    assert second.tolist() == [1.0, 2.0]
    (whole,) = gt.autograd.grad((x * x).sum(), (x,))
    assert whole.tolist() == [2.0, 4.0]
