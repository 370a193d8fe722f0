"""The backward loop: walk the recorded graph from its roots and hand out gradients.

Nodes run in reverse order of recording, so that a node's gradient is complete when it
runs; leaves take in theirs as soon as it is complete. No recursion anywhere: depth is
bounded by memory alone.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from operator import add
from typing import Any

from .._common.site import caller_site
from .._dispatch.anomaly_report import new_check, report
from .._dispatch.declare import raw_ops, tensor_ops
from .._graph.anomaly import anomaly
from .._graph.node import Node
from .._graph.observe import BackwardBegan, BackwardEnded, notify, observers
from .._modes.grad_mode import mode
from .._overrides.torch_dispatch import by_classes, dispatching
from .._saved.checks import suspicious
from .._saved.hooks import ever_packed
from .._storage.ownership import is_only_ours, may_overwrite
from .._tensor.tensor import Tensor
from .accumulate import accumulate
from .evaluate import evaluate, placed
from .graph_task import GraphTask
from .node_hooks import has_leaf_hooks
from .order import (
    Edge,
    Ticket,
    collect,
    count_edges,
    execution_order,
    leading_to,
    renumbered,
    ticket_of,
)

LEVELS_PER_THREAD = 20
"""How many passes may run inside one another before the next gets its own thread."""


def run_backward(
    roots: Sequence[Edge],
    gradients: Sequence[Tensor],
    *,
    retain_graph: bool,
    create_graph: bool,
    targets: Sequence[Edge] | None = None,
    accumulating: bool = True,
) -> list[Any]:
    """Send ``gradients`` backward from ``roots``.

    ``targets`` limits the pass to the paths that reach them. With ``accumulating``
    their ``.grad`` takes in the result, otherwise it is returned, one per target
    (None for one that was not reached).
    """
    if not roots:
        return [] if targets is None or accumulating else [None] * len(targets)
    task = GraphTask(None, roots, retain_graph, create_graph)
    leaves = _collect(task, roots)
    as_tensors = create_graph or mode.now.duals or _is_asked_about(task, gradients)
    task.space = space = tensor_ops if as_tensors else raw_ops(gradients[0]._data)
    careful = targets is not None or bool(observers or renumbered or ever_packed)
    careful = careful or suspicious()
    profile = mode.now.profile
    if profile is not None:
        task.space, careful = profile.space(space), True
    if targets is not None:
        _limit(task, targets, accumulating)
    walk = _walk_carefully if careful or has_leaf_hooks(leaves) else _walk
    incoming = [grad if as_tensors else grad._data for grad in gradients]
    if task.depth and task.depth % LEVELS_PER_THREAD == 0:
        _in_new_thread(_execute, task, incoming, walk)
    else:
        _execute(task, incoming, walk)
    found = task.capture
    return [] if found is None else [found[t] for t in targets or ()]


def _is_asked_about(task: GraphTask, gradients: Sequence[Tensor]) -> bool:
    """Tell whether a mode, or a class of tensors in the graph, has a say in its ops."""
    return bool(
        mode.now.dispatch
        or (dispatching and any(type(grad) in dispatching for grad in gradients))
        or (by_classes and any(node in by_classes for node in task.order))
    )


def _collect(task: GraphTask, roots: Sequence[Edge]) -> list[Node]:
    """Find the nodes of a pass, unless who looked at it beforehand has left them."""
    now = mode.now
    known, now.collected = now.collected, None
    if known is not None and known.starts == [node for node, _ in roots]:
        task.order, task.waiting = known.order, known.waiting
        return list(known.waiting)
    task.order, leaves = collect(roots, task.waiting)
    return leaves


def _limit(task: GraphTask, targets: Sequence[Edge], accumulating: bool) -> None:
    """Work out which nodes are on the way to the targets."""
    ends = {node for node, _ in targets}
    latest = execution_order(task.roots, task.order) if renumbered else task.order
    leading = leading_to(ends, reversed(latest))
    task.wanted = leading | ends
    task.needed = task.wanted if accumulating else leading
    task.can_checkpoint = False
    if not accumulating:
        task.capture = dict.fromkeys(targets)


def _execute(
    task: GraphTask, incoming: list[Any], walk: Callable[[GraphTask, list[Any]], None]
) -> None:
    """Run a pass with the thread's switches set for it, and set back at its end."""
    now = mode.now
    before, outer = now.grad, (now.evaluating, now.task)
    packing = tuple(now.packing)
    mode.grad = task.create_graph
    now.evaluating, now.task = None, task
    error: BaseException | None = None
    if observers:
        began = [node for node, _ in task.roots]
        notify(BackwardBegan(began, task.order, caller_site()))
    try:
        walk(task, incoming)
        now.evaluating = task.steps = None
        for callback in task.callbacks:  # which may add callbacks
            callback()
    except BaseException as caught:
        error = caught
        if now.evaluating is not None and anomaly.enabled:
            report(now.evaluating)
        raise
    finally:
        now.grad = before
        if packing != tuple(now.packing):  # a hook has switched saved-tensor hooks
            now.packing[:] = packing
            now.settle()
        now.evaluating, now.task = outer
        if observers:
            notify(BackwardEnded(error))
        error = None  # whose traceback refers to this frame


def _in_new_thread(function: Callable[..., None], *args: Any) -> None:
    """Call a function on a fresh stack, with this thread's modes and variables.

    A pass that begins inside another one, and so on, needs a stack for each; Python
    allows a thread about a thousand frames.
    """
    switches, context = mode.now, contextvars.copy_context()
    raised: list[BaseException] = []

    def target() -> None:
        mode.now = switches
        try:
            context.run(function, *args)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=target, name="gradtape-backward", daemon=True)
    thread.start()
    thread.join()
    if raised:
        raise raised.pop()


def _walk(task: GraphTask, incoming: list[Any]) -> None:
    """Run all nodes, in the order of their numbers."""
    F, keep, place, raw = task.space, task.keep, task.place, task.space.raw
    owning, space, last, large = F.owning, F, None, False
    arriving, waiting = task.arriving, task.waiting
    take, find, quiet = arriving.pop, arriving.get, mode.now.run
    ready: list[Node] = []
    now, watching = mode.now, anomaly.enabled
    check = new_check() if watching and anomaly.check_nan else None
    if check is not None:
        owning = None  # it looks at what came in when it has seen what goes out
    for node, number in task.roots:
        _place_root(task, node, number, incoming.pop(0), ready)
    _finish(task, ready)
    task.steps = steps = iter(task.order)
    for node in steps:
        if watching:
            now.evaluating = node
        grad = take(node, None)
        if node.extra is not None or (grad is None and node.foreign):
            slots = grad if isinstance(grad, list) else [grad] * len(node.layouts)
            outgoing = evaluate(task, node, slots)
        elif grad is None:
            outgoing = (None,) * len(node.nodes)
        else:
            if (layout := node.layout) is not last:  # which changes seldom
                last, space = layout, F
                large = owning is not None and layout is not None and layout[3]
            if large:
                out = outgoing = None  # which may refer to the same memory
                if node.part is not None and task.add_to_part(node, grad):
                    continue
                spare = is_only_ours(grad) and may_overwrite(grad)
                space = owning if spare else F
            try:
                outgoing = node.run(space, grad)
            except RuntimeError as error:
                raise placed(error, node)  # noqa: B904 - the same error, with a note
        if check is not None:
            check(node, grad, outgoing)
        if node.keeps and not keep:
            node.free()
        for following, number, out in zip(node.nodes, node.numbers, outgoing):  # noqa: B905 - checked by run()
            if following is None:
                continue
            if raw and out is not None:
                layout = following.layout  # None: several outputs
                if (  # place()'s commonest cases, inlined
                    layout is not None
                    and out.dtype is layout[2]
                    and out.shape == layout[0]
                    and ((old := find(following)) is None or not layout[3])
                ):
                    arriving[following] = out if old is None else quiet(add, old, out)
                    if following.accumulates:
                        left = waiting[following] = waiting[following] - 1
                        if not left:
                            ready.append(following)
                    continue
            old = None  # which place() may add to, if nobody else refers to it
            place(following, number, out, node)
            if following.accumulates:
                left = waiting[following] = waiting[following] - 1
                if not left:
                    ready.append(following)
        if ready:
            grad = out = outgoing = slots = None  # what leaves take should be theirs
            _finish(task, ready)


def _place_root(
    task: GraphTask, node: Node, number: int, grad: Any, ready: list[Node]
) -> None:
    task.place(node, number, grad, None)
    if node.accumulates:
        task.waiting[node] -= 1
        if not task.waiting[node]:
            ready.append(node)


def _finish(task: GraphTask, ready: list[Node]) -> None:
    """Let the leaves whose gradient is complete take it in."""
    for leaf in ready:
        if anomaly.enabled:
            mode.now.evaluating = leaf
        if leaf.dead or observers or has_leaf_hooks((leaf,)):
            evaluate(task, leaf, task.take(leaf))
        elif leaf in task.arriving:  # what evaluate() comes down to
            accumulate(task, leaf, [task.arriving.pop(leaf)])
    ready.clear()


def _walk_carefully(task: GraphTask, incoming: list[Any]) -> None:
    """Run the nodes that are wanted in exactly PyTorch's order, telling who watches."""
    now, wanted, profile = mode.now, task.wanted, mode.now.profile
    task.waiting = waiting = count_edges(task.roots, task.order)
    heap: list[Ticket] = []
    check = new_check() if anomaly.enabled and anomaly.check_nan else None

    # PyTorch begins at a single root even where it leads to nothing that is wanted.
    only_root = task.roots[0][0] if len(task.roots) == 1 else None

    def send(node: Node, number: int, grad: Any, source: Node | None) -> None:
        waiting[node] -= 1
        if wanted is not None and node not in wanted and node is not only_root:
            return
        task.place(node, number, grad, source)
        if not waiting[node]:
            heappush(heap, ticket_of(node))

    for node, number in task.roots:
        send(node, number, incoming.pop(0), None)
    while heap:
        node = now.evaluating = heappop(heap).node
        if profile is not None:
            profile.enter(node)
        slots = task.take(node)
        outgoing = evaluate(task, node, slots)
        if check is not None and outgoing:
            check(node, slots if len(slots) > 1 else slots[0], outgoing)
        if outgoing and node.keeps and not task.keep:
            node.free()
        slots = None  # what leaves take should be theirs alone
        for following, number, out in zip(node.nodes, node.numbers, outgoing):  # noqa: B905 - checked by run()
            if following is not None:
                send(following, number, out, node)
        outgoing = out = None
    if profile is not None:
        profile.enter(None)
