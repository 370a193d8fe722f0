"""Running one node with all that goes with it: hooks, results taken out, events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._graph.node import Node
from .._graph.observe import NodeEntered, NodeLeft, notify, observers
from .._modes.grad_mode import mode
from .._saved.checks import inspect, suspicious
from .._tensor.tensor import Tensor
from .accumulate import accumulate
from .gradient_strides import gradients_laid_out
from .graph_task import GraphTask
from .node_hooks import (
    run_post_accumulate_hooks,
    run_post_hooks,
    run_pre_hooks,
    run_tensor_hooks,
)
from .order import Edge


def evaluate(task: GraphTask, node: Node, slots: list[Any]) -> Sequence[Any]:
    """Run one node on what arrived at its outputs; return what goes on.

    A node whose gradient is only taken out does not run. Order: the hooks of its output
    tensors, taking out, hooks before it, the node, hooks after it; a gradient that is
    taken out of a node that does run is the one before all hooks, as in PyTorch.
    """
    F = task.space
    if node.dead:
        return ()
    capture = task.capture or {}
    if task.needed is not None and node not in task.needed:
        run_tensor_hooks(F, node, slots)
        _take_out(capture, node, slots)
        return ()
    _take_out(capture, node, slots)
    run_tensor_hooks(F, node, slots)
    slots = run_pre_hooks(F, node, slots)
    outgoing: Sequence[Any] = (None,) * len(node.nodes)
    had_hooks = node.extra is not None and bool(node.extra.post_hooks)
    if node.accumulates:
        return _run_leaf(task, node, slots)
    if node.foreign or any(slot is not None for slot in slots):
        if observers:
            notify(NodeEntered(node, _arrays(slots)))
        if suspicious():
            inspect(node)
        profile = mode.now.profile
        run = node.run if profile is None else profile.runner(node)
        try:
            outgoing = run(F, slots if len(slots) > 1 else slots[0])
        except RuntimeError as error:
            raise placed(error, node)  # noqa: B904 - the same error, with a note
        if F.raw and node.lies_like_operands:
            outgoing = gradients_laid_out(node, slots[0], outgoing)
        if task.wanted is not None and not node.foreign:
            outgoing = _limited(node, outgoing, task.wanted)
    if node.extra is not None and node.extra.post_hooks:
        given = slots if had_hooks else [None] * len(slots)  # hung up while it ran
        outgoing = [
            None if out is None or goal is None else task.fitted(goal, at, out, node)
            for out, (goal, at) in zip(outgoing, node.next_functions, strict=True)
        ]
        outgoing = run_post_hooks(F, node, outgoing, given)
    if observers:
        notify(NodeLeft(node, _arrays(outgoing)))
    return outgoing


def _limited(node: Node, outgoing: Sequence[Any], wanted: set[Node]) -> Sequence[Any]:
    """Leave out what goes nowhere in this pass: hooks do not see it, as in PyTorch."""
    return [
        out if following in wanted else None
        for following, out in zip(node.nodes, outgoing, strict=True)
    ]


def _run_leaf(task: GraphTask, leaf: Any, slots: list[Any]) -> Sequence[Any]:
    more = leaf.extra
    kept = list(slots) if more is not None and more.post_hooks else None
    if slots[0] is not None:
        profile, others = mode.now.profile, 0 if kept is None else 1
        if profile is None:
            accumulate(task, leaf, slots, others=others)
        else:
            profile.leaf(accumulate, task, leaf, slots, others=others)
    run_post_accumulate_hooks(leaf)
    if kept is not None:
        run_post_hooks(task.space, leaf, (), kept)
    return ()


def _take_out(capture: dict[Edge, Any], node: Node, slots: list[Any]) -> None:
    if capture:
        for number, grad in enumerate(slots):
            if (node, number) in capture:
                capture[node, number] = grad


def placed(error: RuntimeError, node: Node) -> RuntimeError:
    """Say on the error which node failed and which line recorded it."""
    if node.site is not None and not hasattr(error, "gradtape_node"):
        error.gradtape_node = node.name()  # type: ignore[attr-defined]
        error.add_note(f"raised in {node.name()}, recorded at {node.site}")
    return error


def _arrays(gradients: Sequence[Any]) -> list[Any]:
    return [g._data if isinstance(g, Tensor) else g for g in gradients]
