"""Several threads going backward at once: nothing is lost, and errors stay errors."""

from __future__ import annotations

import sys
import threading

import pytest

import gradtape as gt


@pytest.fixture(autouse=True)
def frequent_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def together(count, function):
    """Call ``function(i)`` in several threads at once; return what was raised."""
    raised: list[BaseException] = []
    start = threading.Barrier(count)

    def run(i):
        start.wait()
        try:
            function(i)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return raised


@pytest.mark.parametrize("size", [3, 100_000])
def test_a_shared_leaf_loses_no_gradient(size):
    x = gt.ones(size, requires_grad=True)

    def work(_):
        for _ in range(30):
            (x * 1).sum().backward()

    assert together(6, work) == []
    assert x.grad.min().item() == x.grad.max().item() == 180


def test_the_first_gradient_is_stored_once():
    for _ in range(50):
        x = gt.ones(3, requires_grad=True)
        assert together(4, lambda _, x=x: (x * 1).sum().backward()) == []
        assert x.grad.tolist() == [4, 4, 4]


def test_a_leaf_has_one_accumulator():
    for _ in range(50):
        x, nodes = gt.ones(1, requires_grad=True), []

        def find(_, x=x, nodes=nodes):
            nodes.append((x * 2).grad_fn.next_functions[0][0])

        together(4, find)
        assert len(set(nodes)) == 1


def test_a_shared_graph_that_is_kept():
    x = gt.ones(2000, requires_grad=True)
    y = (x * x).exp().sum()

    def work(_):
        for _ in range(20):
            y.backward(retain_graph=True)

    assert together(4, work) == []
    assert x.grad[0].item() == pytest.approx(80 * 2 * 2.718281828, rel=1e-4)


def test_a_graph_is_freed_for_all_but_one():
    for _ in range(40):
        y = gt.ones(3, requires_grad=True)
        for _ in range(10):
            y = (y * y).exp().log()
        y = y.sum()
        errors = together(4, lambda _, y=y: y.backward())
        assert len(errors) == 3
        assert all("a second time" in str(error) for error in errors)
        assert all(type(error) is RuntimeError for error in errors)


def test_modes_belong_to_a_thread():
    def work(i):
        for _ in range(50):
            with gt.set_grad_enabled(bool(i % 2)):
                y = gt.ones(2, requires_grad=True) * 2
                assert y.requires_grad == bool(i % 2)
            z = gt.ones(2, requires_grad=True) * 2
            z.register_hook(lambda g: None)
            z.sum().backward()
            assert gt.is_grad_enabled()

    assert together(6, work) == []


def test_a_pass_is_known_only_to_its_thread():
    seen = []

    def ask(grad):
        mine = gt._C._current_graph_task_id()
        together(1, lambda _: seen.append(gt._C._current_graph_task_id()))
        seen.append(mine >= 0)

    y = gt.ones(1, requires_grad=True) * 2
    y.register_hook(ask)
    y.backward()
    assert seen == [-1, True]


def test_hooks_run_in_the_thread_that_goes_backward():
    seen = []
    x = gt.ones(1, requires_grad=True)
    x.register_hook(lambda g: seen.append(threading.get_ident()))
    idents = []

    def work(_):
        idents.append(threading.get_ident())
        (x * 2).backward()

    assert together(3, work) == []
    assert sorted(seen) == sorted(idents)


def test_a_pass_inside_a_pass_keeps_the_variables_of_its_thread():
    import contextvars

    name = contextvars.ContextVar("name", default="")
    seen = []

    def level(depth):
        with gt.enable_grad():
            y = gt.ones(1, requires_grad=True) * 2

        def hook(g):
            seen.append(name.get())
            if depth:
                level(depth - 1)

        y.register_hook(hook)
        y.backward()

    name.set("mine")
    level(45)
    assert seen == ["mine"] * 46
