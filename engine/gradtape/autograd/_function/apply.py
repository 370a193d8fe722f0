"""Calling a user's Function: forward without recording, then its node."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._backend import backend_of
from ..._common.site import users_above
from ..._graph.anomaly import callers_of
from ..._graph.node import Node, new_object, next_sequence_nr
from ..._graph.observe import OpCalled, notify, observers
from ..._modes.grad_mode import Switches, mode
from ..._modes.transforms import active
from ..._tensor.tensor import Tensor, edge_of
from .jvp import push_forward
from .node import CALL_BLANK, CustomNode
from .outputs import keep, settle, to_keep

_NEEDS_SETUP = (
    "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, "
    "jacrev, ...), it must override the setup_context staticmethod. For more details, "
    "please see https://pytorch.org/docs/main/notes/extending.func.html"
)

_get_frame = sys._getframe


def call(
    cls: Any, args: tuple[Any, ...], separate: bool, forward: Callable[..., Any]
) -> Any:
    """Run ``forward`` on ``args`` and record the call as one of ``cls``.

    With ``separate``, forward takes no ctx and ``setup_context`` fills it.
    """
    now = mode.now
    if not separate and active.depth:
        raise RuntimeError(_NEEDS_SETUP)
    node, inputs, recording = begin(cls._backward_cls, args, now)
    duals = now.duals
    returned = _forward(cls, forward, node, args, separate, now)
    single = not isinstance(returned, tuple)
    raw: tuple[Any, ...] = (returned,) if single else returned
    kept = to_keep(node)
    guarded = (*kept, *(node.saved_for_forward or ())) if separate else ()
    outputs, dirty, marked = settle(node, inputs, raw, recording, guarded)
    if duals is not None:
        push_forward(node, args, raw, outputs, marked)
    if recording:
        keep(node, kept, dirty)
    elif node.to_save is not None:
        node.to_save = None
    if node.saved_for_forward is not None:
        del node.saved_for_forward
    if observers:
        tensors = [each for each in outputs if isinstance(each, Tensor)]
        name = str(cls.__name__)
        notify(OpCalled(name, args, tensors, node if recording else None))
    return outputs[0] if single else outputs


def _forward(
    cls: Any,
    forward: Callable[..., Any],
    node: CustomNode,
    args: tuple[Any, ...],
    separate: bool,
    now: Switches,
) -> Any:
    """Call the user's forward, with recording and forward mode off."""
    grad, enabled, duals, profile = now.grad, now.forward, now.duals, now.profile
    watch = now.watch
    now.grad = now.forward = False
    if watch is not None and not cls.generate_vmap_rule:
        now.watch = None  # batches go to the class's own rule: forward may use NumPy
    if duals is not None:
        now.settle()
    event = None if profile is None else profile.begin(node.op_name, inputs=args)
    try:
        if not separate:
            return forward(node, *args)
        returned = forward(*args)
        now.watch = watch
        cls.setup_context(node, args, returned)
        return returned
    finally:
        now.grad, now.forward, now.watch = grad, enabled, watch
        if duals is not None:
            now.settle()
        if profile is not None and event is not None:
            profile.finish(event)
            event.seq = node.seq if node.nodes else -1


def begin(
    kind: type[CustomNode], args: tuple[Any, ...], now: Switches
) -> tuple[CustomNode, list[Tensor], bool]:
    """Make the node of a call before forward runs.

    Returns it, the tensors among ``args``, and whether the call is recorded. As in
    PyTorch its number is taken now, so that it comes before the nodes of what
    forward records.
    """
    node = new_object(kind)
    for write, value in CALL_BLANK:
        write(node, value)
    inputs: list[Tensor] = []
    takes: list[bool] = []
    needs: list[bool] = []
    for arg in args:
        if isinstance(arg, Tensor):
            inputs.append(arg)
            takes.append(True)
            needs.append(arg.requires_grad)
        else:
            takes.append(False)
            needs.append(False)
    set_takes(node, tuple(takes))
    set_needs(node, tuple(needs))
    recording = now.grad and True in needs
    if recording:
        set_nodes(node, tuple([edge_of(t) for t in inputs]))
        set_numbers(node, tuple([t._nr for t in inputs]))
    set_scope(node, now.scope)
    set_seq(node, next_sequence_nr())
    frame = users_above(_get_frame(2))
    set_code(node, frame.f_code)
    set_lasti(node, frame.f_lasti)
    if now.anomaly:
        node.callers = callers_of(frame, now.evaluating)
    if inputs and type(inputs[0]._data) is not np.ndarray:
        node._xp = backend_of(inputs[0]._data).xp
    return node, inputs, recording


# The slots' own setters: quicker than telling the engine's writes from the user's.
set_nodes = Node.nodes.__set__  # type: ignore[attr-defined]
set_numbers = Node.numbers.__set__  # type: ignore[attr-defined]
set_scope = Node.scope.__set__  # type: ignore[attr-defined]
set_seq = Node.seq.__set__  # type: ignore[attr-defined]
set_code = Node.code.__set__  # type: ignore[attr-defined]
set_lasti = Node.lasti.__set__  # type: ignore[attr-defined]
set_takes = CustomNode._takes.__set__  # type: ignore[attr-defined]
set_needs = CustomNode.needs_input_grad.__set__  # type: ignore[attr-defined]


def in_order(
    forward: Any, args: tuple[Any, ...], named: dict[str, Any], skip: int
) -> tuple[Any, ...]:
    """Put arguments given by name into the places they have in ``forward``.

    ``skip`` parameters, the ctx, are not the caller's. Raises TypeError for an unknown
    name, one that is given twice, or one left out before one that is given.
    """
    code = forward.__code__
    names = code.co_varnames[skip : code.co_argcount]
    for name in named:
        if name not in names:
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
        if names.index(name) < len(args):
            raise TypeError(f"forward() got multiple values for argument '{name}'")
    placed = list(args)
    last = max(names.index(name) for name in named)
    for position in range(len(args), last + 1):
        name = names[position]
        if name not in named:
            raise TypeError(
                f"forward() missing required argument: '{name}' (position {position})"
            )
        placed.append(named[name])
    return tuple(placed)
