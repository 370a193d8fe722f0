"""Calling a user's Function: forward without recording, then its node."""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np

from ..._backend import backend_of
from ..._common.site import users_above
from ..._forward_mode.dual import Below, Level, enable, forward_base, is_enabled
from ..._graph.anomaly import callers_of
from ..._graph.node import Node, new_object, next_sequence_nr
from ..._graph.observe import OpCalled, notify, observers
from ..._modes.grad_mode import Switches, mode
from ..._modes.transforms import active
from ..._tensor.tensor import Tensor, edge_of
from ...ops.creation.factories import zeros_like
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


# ---- forward mode: the Function's ``jvp`` ----

_NOT_A_VIEW = (
    "A custom Function's forward is returning a view (or an input as-is) but the jvp "
    "is not returning a view."
)
_OTHER_VIEW = (
    "A custom Function is returning a view but the jvp is not returning a view of the "
    "given grad input."
)
_OTHER_BASE = (
    "A custom Function is returning a view but the jvp is not returning a view of the "
    "same base as the given grad input."
)
_NOT_IN_PLACE = (
    "An inplace custom Function is not {what}. If the forward is modifying an input "
    "inplace, then the jvp function must modify the {which}."
)


def push_forward(
    node: Any,
    args: tuple[Any, ...],
    returned: tuple[Any, ...],
    outputs: tuple[Any, ...],
    marked: Container[int],
) -> None:
    """Give the outputs of a user's Function their tangents, at every level.

    ``returned`` is what forward returned, ``outputs`` what stands for it outside;
    ``marked`` has the ids of what is not differentiable.
    """
    innermost: Level = mode.now.duals
    for level in innermost.carrying(args):
        tangents = [
            level.tangent_of(arg) if isinstance(arg, Tensor) else None for arg in args
        ]
        with Below(level):
            versions = [None if t is None else t._version for t in tangents]
            found = _called(level, node, _given(node, args, tangents))
            _check_count(found, len(outputs))
            for number, output in enumerate(outputs):
                where = next((i for i, a in enumerate(args) if a is output), None)
                if _is_silent(returned[number], marked):
                    _check_absent(number, found[number])
                elif where is not None and tangents[where] is not None:
                    _check_changed(found[number], tangents[where], versions[where])
                elif (tangent := found[number]) is None:
                    continue
                elif where is not None:
                    level.attach_written(output, tangent)
                else:
                    _check_view(output, tangent, args, tangents)
                    level.attach(output, tangent)


def _given(
    node: Any, args: Sequence[Any], tangents: Sequence[Tensor | None]
) -> list[Tensor | None]:
    """Return what ``jvp`` gets: zeros for tensors without tangent, unless refused."""
    if not node.materialize_grads:
        return list(tangents)
    return [
        zeros_like(arg.detach()) if t is None and _is_smooth(arg) else t
        for arg, t in zip(args, tangents, strict=True)
    ]


def _is_smooth(value: Any) -> bool:
    return isinstance(value, Tensor) and value._data.dtype.kind in "fcV"


def _called(level: Level, node: Any, given: Sequence[Any]) -> list[Any]:
    """Call the user's ``jvp``, in the outermost level with forward mode off."""
    enabled = is_enabled()
    enable(enabled and level.below is not None)
    try:
        found = node.apply_jvp(*given)
    finally:
        enable(enabled)
    each = list(found) if isinstance(found, tuple | list) else [found]
    for number, tangent in enumerate(each):
        if tangent is not None and not isinstance(tangent, Tensor):
            raise RuntimeError(
                f"expected Variable or None (got {type(tangent).__name__}) for grad "
                f"output {number}."
            )
    return each


def _check_count(found: Sequence[Any], count: int) -> None:
    if len(found) != count:
        raise RuntimeError(
            "Function's jvp returned an invalid number of forward gradients (expected "
            f"{count} but got {len(found)})"
        )


def _is_silent(output: Any, marked: Container[int]) -> bool:
    return not _is_smooth(output) or id(output) in marked


def _check_absent(number: int, tangent: Tensor | None) -> None:
    if tangent is not None:
        raise RuntimeError(
            f"Function's jvp returned a gradient at position {number}, but  the "
            "corresponding forward output is not a differentiable Tensor.You should "
            "return None at that position instead."
        )


def _check_changed(
    tangent: Tensor | None, given: Tensor | None, version: int | None
) -> None:
    """Refuse a write whose tangent was not written in place, too."""
    if tangent is None or tangent._version == version:
        raise RuntimeError(
            _NOT_IN_PLACE.format(
                what="modifying the forward mode gradients inplace",
                which="corresponding gradient inplace",
            )
        )
    if tangent is not given:
        raise RuntimeError(
            _NOT_IN_PLACE.format(
                what="returning the forward mode gradients as-is",
                which="gradient inplace and return it as-is",
            )
        )


def _check_view(
    output: Tensor,
    tangent: Tensor,
    args: Sequence[Any],
    tangents: Sequence[Tensor | None],
) -> None:
    """Refuse the tangent of a view of an input that is no view of the input's."""
    if output._base is None:
        return
    for arg, given in zip(args, tangents, strict=True):
        if given is None or arg._storage is not output._storage:
            continue
        base, whole = forward_base(tangent), forward_base(given)
        if base is None:
            raise RuntimeError(_NOT_A_VIEW)
        if whole is None and base is not given:
            raise RuntimeError(_OTHER_VIEW)
        if whole is not None and base is not whole:
            raise RuntimeError(_OTHER_BASE)
        return
