"""What a checkpoint keeps alive, and how long: seen with the garbage collector off."""

from __future__ import annotations

import functools
import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import gradtape
from gradtape.utils.checkpoint import CheckpointError

from .checkpoints import changing, run

pytestmark = pytest.mark.usefixtures("no_collector")


class Activations:
    """A chain of sines that notes the memory of every result, without keeping it."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.made: list[weakref.ref[Any]] = []

    def __call__(self, x: Any) -> Any:
        for _ in range(self.length):
            x = x.sin()
            memory = x._data if x._data.base is None else x._data.base
            self.made.append(weakref.ref(memory))
            del memory
        return x

    def alive(self) -> int:
        """Return how many of the results still have memory."""
        return sum(each() is not None for each in self.made)


def leaf() -> Any:
    return gradtape.linspace(0.1, 0.4, 4).requires_grad_()


def test_a_plain_call_keeps_what_it_saves() -> None:
    """Else the tests below would prove nothing."""
    chain = Activations(5)
    y = chain(leaf())
    assert chain.alive() == 5
    del y
    assert chain.alive() == 0


@pytest.mark.parametrize("reentrant", [True, False])
def test_activations_are_let_go_until_backward(reentrant: bool) -> None:
    chain = Activations(5)
    y = run(gradtape, chain, leaf(), use_reentrant=reentrant)
    assert chain.alive() == 1  # y itself
    y.sum().backward()
    assert len(chain.made) == (10 if reentrant else 9)  # the last sine saves nothing
    assert chain.alive() == 1


@pytest.mark.parametrize("retain", [True, False])
def test_recomputed_activations_go_as_they_are_used(retain: bool) -> None:
    """Even where the graph is kept: the next pass computes them again."""
    chain = Activations(5)
    x = leaf()
    y = run(gradtape, chain, x)
    counts: list[int] = []
    node = y.grad_fn
    while node.next_functions:
        node.register_prehook(lambda _: counts.append(chain.alive()))
        node = node.next_functions[0][0]
    y.sum().backward(retain_graph=retain)
    assert counts == [1, 4, 3, 2, 1]


def test_segments_are_alive_one_at_a_time() -> None:
    segments = [Activations(4) for _ in range(3)]
    y = leaf()
    most: list[int] = []
    for segment in segments:
        y = run(gradtape, segment, y)
        y.register_hook(lambda _: most.append(sum(s.alive() for s in segments)))
    results = len(segments)
    assert sum(s.alive() for s in segments) == results
    y.sum().backward()
    assert max(most) <= results


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_graph_that_is_dropped_frees_the_arguments(reentrant: bool) -> None:
    argument = leaf() * 2
    y = run(gradtape, Activations(2), argument, use_reentrant=reentrant)
    alive, node = weakref.ref(argument), weakref.ref(y.grad_fn)
    del argument
    assert alive() is not None
    del y
    assert (alive(), node()) == (None, None)


@pytest.mark.parametrize("reentrant", [True, False])
def test_backward_frees_the_arguments(reentrant: bool) -> None:
    argument = leaf() * 2
    y = run(gradtape, Activations(2), argument, use_reentrant=reentrant)
    alive = weakref.ref(argument)
    del argument
    y.sum().backward()
    assert alive() is None


# ---- no cycles ---------------------------------------------------------------------


def _backward(**options: Any) -> None:
    y = run(gradtape, Activations(3), leaf(), **options)
    y.sum().backward(retain_graph=True)
    y.sum().backward()


def _nested(reentrant: bool) -> None:
    inner = functools.partial(run, gradtape, Activations(3), use_reentrant=reentrant)
    y = run(gradtape, lambda x: inner(x).exp(), leaf(), use_reentrant=reentrant)
    y.sum().backward()


def _refused(**options: Any) -> None:
    function = changing(lambda x: (x * 2).sin(), lambda x: (x * 3).sin())
    y = run(gradtape, function, leaf(), **options)
    with pytest.raises(CheckpointError):
        y.sum().backward()


def _selective() -> None:
    ops = [gradtape.ops.aten.exp.default]
    make = gradtape.utils.checkpoint.create_selective_checkpoint_contexts
    y = run(
        gradtape,
        lambda x: x.exp().sin().exp(),
        leaf(),
        context_fn=functools.partial(make, ops),
    )
    y.sum().backward()


def _fails_again() -> None:
    def fail(x: Any) -> Any:
        _ = x.sin()
        raise KeyError("mine")

    y = run(gradtape, changing(lambda x: x.sin().exp(), fail), leaf())
    with pytest.raises(KeyError):
        y.sum().backward()


def _second_derivative() -> None:
    x = leaf()
    y = run(gradtape, Activations(3), x)
    (g,) = gradtape.autograd.grad(y.sum(), x, create_graph=True)
    g.sum().backward()


CALLS: dict[str, Callable[[], None]] = {
    "reentrant": functools.partial(_backward, use_reentrant=True),
    "not reentrant": _backward,
    "to the end": functools.partial(_backward, early_stop=False),
    "debug": functools.partial(_backward, debug=True),
    "nested": functools.partial(_nested, False),
    "nested reentrant": functools.partial(_nested, True),
    "refused": _refused,
    "refused reentrant": functools.partial(_refused, use_reentrant=True),
    "refused with debug": functools.partial(_refused, debug=True),
    "selective": _selective,
    "fails in backward": _fails_again,
    "second derivative": _second_derivative,
}


@pytest.mark.parametrize("name", CALLS)
def test_checkpoints_leave_the_collector_nothing_to_do(name: str) -> None:
    CALLS[name]()  # what is made once, such as caches, is not meant
    gc.collect()
    CALLS[name]()
    assert gc.collect() == 0
