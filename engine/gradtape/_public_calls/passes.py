"""Passes, switches of grad mode, and hooks, as whoever listens to calls hears them."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from .. import autograd
from .._graph.node import Node, next_sequence_nr
from .._graph.observe import PublicCall, call_listeners, calling
from .._modes import grad_mode
from .._modes.grad_mode import mode
from .._tensor.hooks import TensorHooks
from .._tensor.tensor import Tensor
from ..autograd import _api

BACKWARD = (
    "tensors",
    "grad_tensors",
    "retain_graph",
    "create_graph",
    "grad_variables",
    "inputs",
)
GRAD = (
    "outputs",
    "inputs",
    "grad_outputs",
    "retain_graph",
    "create_graph",
    "only_inputs",
    "allow_unused",
)

METHOD = ("self", "gradient", "retain_graph", "create_graph", "inputs")


def announcing_passes() -> Iterator[tuple[Any, str, Any]]:
    """Yield owner, name and function of each way into a backward pass."""
    backward = _announcing(_api.backward, "backward", BACKWARD)
    grad = _announcing(_api.grad, "grad", GRAD)
    for owner in (_api, autograd):
        yield owner, "backward", backward
        yield owner, "grad", grad
    method = _announcing(vars(Tensor)["backward"], "backward", METHOD)
    yield Tensor, "backward", method


def _announcing(original: Any, name: str, parameters: Sequence[str]) -> Any:
    is_method = parameters is METHOD

    @functools.wraps(original)
    def run(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        now = calling.now
        if now.depth or not call_listeners:
            return original(*args, **kwargs)
        if now.handing and not is_method:
            now.handing -= 1
            return original(*args, **kwargs)
        call = PublicCall(name, args, kwargs, next_sequence_nr(), parameters)
        told = [each for each in call_listeners if each.pass_began(call)]
        now.handing += is_method
        try:
            result = original(*args, **kwargs)
        except BaseException as error:
            now.handing = 0  # it may have been refused before it got there
            for listener in reversed(told):
                listener.pass_raised(call, error)
            raise
        now.handing = 0
        for listener in reversed(told):
            listener.pass_ended(call, result)
        return result

    return run


def announcing_modes() -> Iterator[tuple[Any, str, Any]]:
    """Yield the methods of grad mode's and inference mode's switches."""
    for owner, name, leaving in (
        (grad_mode._GradMode, "__enter__", False),
        (grad_mode._GradMode, "__exit__", True),
        (grad_mode.set_grad_enabled, "__init__", False),
        (grad_mode.set_grad_enabled, "__enter__", False),
        (grad_mode.set_grad_enabled, "__exit__", True),
        (grad_mode.inference_mode, "__enter__", False),
        (grad_mode.inference_mode, "__exit__", True),
    ):
        yield owner, name, _switching(vars(owner)[name], leaving)


def _switching(original: Any, leaving: bool) -> Any:
    again = original.__qualname__ == "set_grad_enabled.__enter__"

    @functools.wraps(original)
    def switch(self: Any, *args: Any) -> Any:
        __tracebackhide__ = True
        if calling.now.depth or not call_listeners:
            return original(self, *args)
        before = mode.now.grad
        result = original(self, *args)
        if not (again and mode.now.grad == before):
            caller = sys._getframe(1).f_code
            for listener in call_listeners:
                listener.mode_switched(self, leaving, caller)
        return result

    return switch


def announcing_hooks() -> Iterator[tuple[Any, str, Any]]:
    """Yield the methods that put hooks on tensors and nodes."""
    for owner, name, kind in (
        (TensorHooks, "register_hook", "tensor"),
        (TensorHooks, "register_post_accumulate_grad_hook", "post_accumulate"),
        (Node, "register_hook", "node"),
        (Node, "register_prehook", "node_pre"),
    ):
        yield owner, name, _registering(vars(owner)[name], kind)


def _registering(original: Any, kind: str) -> Any:
    @functools.wraps(original)
    def register(self: Any, hook: Any, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        handle = original(self, hook, *args, **kwargs)
        if not calling.now.depth:
            for listener in call_listeners:
                listener.hook_registered(kind, self, hook, handle)
        return handle

    return register
