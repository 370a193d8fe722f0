"""Deep graphs are walked and freed without recursion and without garbage collection."""

from __future__ import annotations

import weakref

import pytest

import gradtape as gt

DEPTH = 20_000


class Doubled(gt.autograd.Function):
    """A function of the user's, which saves its input."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        return grad * 1


watched = gt.nn.Identity()
watched.register_full_backward_pre_hook(lambda module, grad: None)
watched.register_full_backward_hook(lambda module, grad_in, grad_out: None)


def write_a_part(y):
    y = y.clone()
    y[:1].mul_(1)
    return y


def hang_hooks(y):
    y = y + 0
    y.register_hook(lambda g: g)
    y.retain_grad()
    y.grad_fn.register_prehook(lambda g: g)
    y.grad_fn.register_hook(lambda i, o: i)
    y.grad_fn.metadata["node"] = "a note"
    return y


STEPS = {
    "nothing saved": lambda y: y + 0,
    "input saved": lambda y: y * 1.0,
    "output saved": lambda y: (y * 0).exp(),
    "views": lambda y: y.view(2),
    "in place": lambda y: y.mul_(1),
    "several outputs": lambda y: gt.cat(y.split(1)),
    "a part written": write_a_part,
    "a custom function": Doubled.apply,
    "every kind of hook": hang_hooks,
    "module hooks": watched,
}


def chain(step, depth):
    """Return a leaf, the end of a chain of steps on it, and the chain's first node."""
    x = gt.ones(2, requires_grad=True)
    y = x + 0
    first = weakref.ref(y.grad_fn)
    for _ in range(depth):
        y = step(y)
    return x, y, first


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.usefixtures("no_collector")
def test_a_deep_graph_is_walked_and_freed(name):
    x, y, first = chain(STEPS[name], DEPTH if "hook" not in name else DEPTH // 5)
    y.sum().backward()
    assert x.grad is not None
    last = weakref.ref(y.grad_fn)
    del y
    assert first() is None
    assert last() is None


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.usefixtures("no_collector")
def test_a_graph_that_nobody_walked_is_freed(name):
    _, y, first = chain(STEPS[name], 2000)
    last = weakref.ref(y.grad_fn)
    del y
    assert first() is None
    assert last() is None


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.usefixtures("no_collector")
def test_a_graph_of_a_gradient_is_freed(name):
    x, y, first = chain(STEPS[name], 50)
    (g,) = gt.autograd.grad((y * x * x).sum(), x, create_graph=True)
    last = weakref.ref(g.grad_fn)
    del y, g
    assert first() is None
    assert last() is None


@pytest.mark.usefixtures("no_collector")
def test_tensors_with_hooks_are_freed():
    def kept():
        x = gt.ones(2, requires_grad=True)
        y = x * 2
        seen = []
        for each in (x, y):
            each.register_hook(seen.append)
        x.register_post_accumulate_grad_hook(lambda p: None)
        y.retain_grad()
        y.sum().backward()
        return [weakref.ref(each) for each in (x, y, y.grad_fn)]

    assert [reference() for reference in kept()] == [None] * 3


@pytest.mark.usefixtures("no_collector")
def test_a_retained_tensor_is_not_kept_alive():
    x = gt.ones(2, requires_grad=True)

    def build():
        y = x * 2
        y.retain_grad()
        return y / 2, gt._C._WeakTensorRef(y)

    z, reference = build()
    assert reference.expired()
    z.sum().backward()
    assert x.grad.tolist() == [1, 1]


@pytest.mark.usefixtures("no_collector")
def test_a_failed_pass_keeps_nothing():
    _, y, first = chain(lambda y: y * 1.0, 100)
    y.grad_fn.register_hook(lambda i, o: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()
    assert gt._C._current_graph_task_id() == -1
    del y
    assert first() is None


@pytest.mark.usefixtures("no_collector")
def test_a_graph_of_reused_values_is_walked_once_per_node():
    x = gt.ones(1, requires_grad=True)
    y = x
    for _ in range(60):  # 2 to the power of 60 paths
        y = y + y
    y.backward()
    assert x.grad.item() == 2.0**60
