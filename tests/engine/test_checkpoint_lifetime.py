"""What a checkpoint keeps alive, and how long: seen with the garbage collector off."""

from __future__ import annotations

import gc
import warnings
import weakref
from typing import Any

import gradtape

from .checkpoints import run


def test_intermediate_tensors_are_let_go_until_backward() -> None:
    kept: list[weakref.ref[Any]] = []

    def function(x: Any) -> Any:
        y = x.sin()
        kept.append(weakref.ref(y))
        return y.exp()

    x = gradtape.ones(4, requires_grad=True)
    gc.disable()
    try:
        y = run(gradtape, function, x)
        assert kept[0]() is None
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
    finally:
        gc.enable()


def test_a_checkpointed_graph_is_freed_by_backward() -> None:
    x = gradtape.ones(4, requires_grad=True)
    argument = x * 2
    gc.disable()
    try:
        y = run(gradtape, lambda x: x.sin().exp(), argument)
        alive = weakref.ref(argument)
        del argument
        assert alive() is not None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            y.sum().backward()
        assert alive() is None
    finally:
        gc.enable()
