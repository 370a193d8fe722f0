"""Passes inside passes, callbacks, order, and what a pass tells about itself."""

from __future__ import annotations

import threading

import pytest

import gradtape as gt

from ..oracle import assert_same


def leaf(t, *values):
    return t.tensor([float(v) for v in values], requires_grad=True)


def queue(t):
    return t.autograd.Variable._execution_engine.queue_callback


# ---- callbacks ----


def callback_at_the_end(t):
    x, seen = leaf(t, 1), []
    y = x * 2

    def callback():
        running = t._C._current_graph_task_id() >= 0
        seen.append((t.is_grad_enabled(), running, x.grad is None))

    y.register_hook(lambda g: queue(t)(callback))
    y.backward()
    return seen, t._C._current_graph_task_id()


def callback_of_grad(t):
    x, seen = leaf(t, 1), []
    y = x * 2
    y.register_hook(lambda g: queue(t)(lambda: seen.append("over")))
    t.autograd.grad(y, x)
    return seen


def callback_that_queues_another(t):
    x, seen = leaf(t, 1), []
    y = x * 2

    def first():
        seen.append(1)
        queue(t)(lambda: seen.append(2))

    y.register_hook(lambda g: queue(t)(first))
    y.backward()
    return seen


def callback_that_fails(t):
    y = leaf(t, 1) * 2

    def fail():
        raise ValueError("in the callback")

    y.register_hook(lambda g: queue(t)(fail))
    y.backward()


def no_callback_after_an_error(t):
    x, seen = leaf(t, 1), []
    y = x * 2
    y.register_hook(lambda g: queue(t)(lambda: seen.append("over")))
    x.register_hook(lambda g: 1 / 0)
    try:
        y.backward()
    except ZeroDivisionError:
        seen.append("failed")
    return seen


def callback_outside(t):
    queue(t)(lambda: None)


def callbacks_of_an_inner_pass(t):
    x, seen = leaf(t, 1), []
    y = x * 2

    def hook(g):
        with t.enable_grad():
            inner = leaf(t, 1) * 2
        inner.register_hook(lambda g: queue(t)(lambda: seen.append("inner over")))
        inner.backward()
        seen.append("after the inner pass")
        queue(t)(lambda: seen.append("outer over"))

    y.register_hook(hook)
    y.backward()
    return seen


# ---- what a pass tells ----


def numbers_of_passes(t):
    x, seen = leaf(t, 1), []
    y = x * 2

    def hook(g):
        outer = t._C._current_graph_task_id()
        with t.enable_grad():
            inner = leaf(t, 1) * 3
        inner.register_hook(
            lambda g: seen.append(t._C._current_graph_task_id() - outer)
        )
        inner.backward()
        seen.append(t._C._current_graph_task_id() - outer)

    y.register_hook(hook)
    y.backward()
    return seen


def node_that_runs(t):
    x, seen = leaf(t, 1), []
    y = x * 2

    class Ask(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            name()
            return grad

    def name(*_):
        seen.append(t._C._current_autograd_node().name())

    z = Ask.apply(y).exp()
    z.backward(retain_graph=True)
    y.register_hook(name)
    x.register_hook(name)
    x.register_post_accumulate_grad_hook(name)
    z.backward()
    return seen, t._C._current_autograd_node()


def order_of_nodes(t):
    found = []
    for inputs in (None, "x"):
        x, w = leaf(t, 1), leaf(t, 2)
        y = x * w
        z = y.exp() * y

        def hook(g, found=found):
            found.append([n.name() for n in t._C._current_graph_task_execution_order()])

        z.register_hook(hook)
        with t.autograd.set_multithreading_enabled(False):
            if inputs is None:
                z.backward()
            else:
                t.autograd.grad(z, x)
    return found


def order_while_several_threads_may_run(t):
    y = leaf(t, 1) * 2
    y.register_hook(lambda g: t._C._current_graph_task_execution_order())
    y.backward()


def order_outside(t):
    t._C._current_graph_task_execution_order()


def nodes_that_will_run(t):
    x, w, seen = leaf(t, 1), leaf(t, 2), []
    a, b = x * 2, w * 3
    z, other = a * b, leaf(t, 1) * 2
    nodes = [each.grad_fn for each in (z, a, b, other)]
    nodes += [each.grad_fn.next_functions[0][0] for each in (a, b)]

    def hook(g):
        for node in nodes:
            try:
                seen.append(t._C._will_engine_execute_node(node))
            except RuntimeError as error:
                seen.append(str(error))

    z.register_hook(hook)
    t.autograd.grad(z, x, retain_graph=True)
    t.autograd.grad(z, a, retain_graph=True)
    z.backward(inputs=[a], retain_graph=True)
    t.autograd.backward([z, b], retain_graph=True)
    z.backward()
    return seen


def will_run_outside(t):
    t._C._will_engine_execute_node((leaf(t, 1) * 2).grad_fn)


def will_run_of_a_number(t):
    t._C._will_engine_execute_node(3)


def numbers_that_were_changed(t):
    x, seen = leaf(t, 1), []
    a = x * 2
    b = a.exp()
    c = x * 3
    for name, each in (("a", a), ("b", b), ("c", c)):
        each.register_hook(lambda g, name=name: seen.append(name))
    a.grad_fn._set_sequence_nr(10**9)
    (found,) = t.autograd.grad(b * a + c, x, retain_graph=True)
    (b * a + c).backward()
    return seen, found, x.grad


def multithreading_switch(t):
    asked = t.autograd.is_multithreading_enabled
    found = [asked()]
    with t.autograd.set_multithreading_enabled(False):
        found.append(asked())
    found.append(asked())
    t.autograd.set_multithreading_enabled(False)
    found.append(asked())
    t.autograd.set_multithreading_enabled(True)
    return [*found, asked()]


# ---- passes inside passes ----


def modes_of_an_inner_pass(t):
    seen = []

    def level(n):
        with t.enable_grad():
            y = leaf(t, 1) * 2

        def hook(g):
            if n:
                t.set_grad_enabled(n % 2 == 0)
                level(n - 1)
            seen.append(t.is_grad_enabled())

        y.register_hook(hook)
        y.backward()

    with t.no_grad():
        level(45)
    return seen, t.is_grad_enabled()


def an_inner_pass_over_the_same_leaf(t):
    x = leaf(t, 1)
    y = x * 2

    def hook(g):
        with t.enable_grad():
            (x * 5).backward()

    y.register_hook(hook)
    y.backward()
    return x.grad


def an_error_from_an_inner_pass(t):
    def level(n):
        with t.enable_grad():
            y = leaf(t, 1) * 2

        def hook(g):
            if not n:
                raise ValueError("innermost")
            level(n - 1)

        y.register_hook(hook)
        y.backward()

    try:
        level(15)
    except ValueError as error:
        found = str(error)
    x = leaf(t, 1)
    (x * 2).backward()
    return found, x.grad, t.is_grad_enabled()


def a_graph_that_differentiates_itself(t):
    class Inner(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with t.enable_grad():
                ctx.x = x.detach().requires_grad_()
                ctx.y = ctx.x**3
            return ctx.y.detach()

        @staticmethod
        def backward(ctx, grad):
            ctx.y.backward(grad)
            return ctx.x.grad

    x = leaf(t, 2)
    (Inner.apply(x) * Inner.apply(x * 2)).backward()
    return x.grad


PROGRAMS = [
    value
    for name, value in list(globals().items())
    if callable(value)
    and getattr(value, "__module__", "") == __name__
    and name not in ("leaf", "queue")
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_same_as_pytorch(program):
    assert_same(program)


def nested(depth, end):
    x = gt.ones(1, requires_grad=True)
    with gt.enable_grad():
        y = x * 2

    def hook(g):
        if depth:
            nested(depth - 1, end)
        else:
            end()

    y.register_hook(hook)
    y.backward()


def test_thousands_of_passes_inside_one_another():
    before, seen = threading.active_count(), []
    nested(3000, lambda: seen.append(threading.active_count()))
    assert seen[0] > before
    assert threading.active_count() == before


def test_an_error_comes_out_of_thousands_of_passes():
    def fail():
        raise ValueError("innermost")

    with pytest.raises(ValueError, match="innermost"):
        nested(1000, fail)
    x = gt.ones(1, requires_grad=True)
    (x * 2).backward()
    assert x.grad.item() == 2
    assert gt._C._current_graph_task_id() == -1
