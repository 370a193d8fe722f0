"""The backward loop: walk the recorded graph from its roots and hand out gradients.

Nodes run in reverse order of recording, so that a node's gradient is complete when it
runs; leaves take in theirs as soon as it is complete. No recursion anywhere: depth is
bounded by memory alone.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from operator import add
from typing import Any

from .._common.compiled import compiled
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
    exactly = careful or has_leaf_hooks(leaves)
    incoming = [grad if as_tensors else grad._data for grad in gradients]
    if task.depth and task.depth % LEVELS_PER_THREAD == 0:
        _in_new_thread(_execute, task, incoming, exactly)
    else:
        _execute(task, incoming, exactly)
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


def _execute(task: GraphTask, incoming: list[Any], exactly: bool) -> None:
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
        _walk(task, incoming, exactly)
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


def _walk(task: GraphTask, incoming: list[Any], exactly: bool) -> None:
    """Run the nodes, latest first, and send on what they return.

    Where someone can see it, they run ``exactly`` in PyTorch's order.
    """
    F, keep, place, raw = task.space, task.keep, task.place, task.space.raw
    now, watching = mode.now, anomaly.enabled
    check = new_check() if watching and anomaly.check_nan else None
    # Who checks looks at what came in when it has seen what goes out.
    owning = None if exactly or check is not None else F.owning
    space, last, large = F, None, False
    arriving, waiting = task.arriving, task.waiting
    take, find, quiet = arriving.pop, arriving.get, now.run
    ready: list[Node] = []
    steps, send = _begin(task, incoming, ready, exactly)
    for node in steps:
        if watching:
            now.evaluating = node
        grad = take(node, None)
        if exactly or node.extra is not None or (grad is None and node.foreign):
            slots = grad if isinstance(grad, list) else [grad] * len(node.layouts)
            grad = None  # what leaves take should be theirs alone
            outgoing = evaluate(task, node, slots)
            if check is not None and outgoing:
                grad = slots if len(slots) > 1 else slots[0]
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
        if check is not None and outgoing:
            check(node, grad, outgoing)
        if node.keeps and not keep and outgoing:
            node.free()
        for following, number, out in zip(node.nodes, node.numbers, outgoing):  # noqa: B905 - checked by run()
            if following is None:
                continue
            if send is not None:
                send(following, number, out, node)
                continue
            if (  # place()'s commonest cases, inlined
                raw
                and out is not None
                and (layout := following.layout) is not None  # None: several outputs
                and out.dtype is layout[2]
                and out.shape == layout[0]
                and ((old := find(following)) is None or not layout[3])
            ):
                arriving[following] = out if old is None else quiet(add, old, out)
            else:
                old = None  # which place() may add to, if nobody else refers to it
                place(following, number, out, node)
            if following.accumulates:
                left = waiting[following] = waiting[following] - 1
                if not left:
                    ready.append(following)
        if ready or exactly:
            grad = out = outgoing = slots = None
            _finish(task, ready)


Send = Callable[[Node, int, Any, Node | None], None]


def _begin(
    task: GraphTask, incoming: list[Any], ready: list[Node], exactly: bool
) -> tuple[Iterable[Node], Send | None]:
    """Place the gradients of the roots; return what runs, and how gradients go on."""
    if exactly:
        queue = _Queue(task)
        for node, number in task.roots:
            queue.send(node, number, incoming.pop(0), None)
        return iter(queue), queue.send
    for node, number in task.roots:
        task.place(node, number, incoming.pop(0), None)
        if node.accumulates:
            task.waiting[node] -= 1
            if not task.waiting[node]:
                ready.append(node)
    _finish(task, ready)
    task.steps = steps = iter(task.order)
    return steps, None


class _Queue:
    """The nodes that are wanted, in exactly PyTorch's order, telling who watches."""

    def __init__(self, task: GraphTask) -> None:
        self.task = task
        self.heap: list[Ticket] = []
        task.waiting = count_edges(task.roots, task.order)
        # PyTorch begins at a single root even where it leads to nothing wanted.
        self.only_root = task.roots[0][0] if len(task.roots) == 1 else None

    def send(self, node: Node, number: int, grad: Any, source: Node | None) -> None:
        """Place one gradient, and queue its node when all have arrived."""
        task = self.task
        task.waiting[node] -= 1
        wanted = task.wanted
        if wanted is not None and node not in wanted and node is not self.only_root:
            return
        task.place(node, number, grad, source)
        if not task.waiting[node]:
            heappush(self.heap, ticket_of(node))

    def __iter__(self) -> Iterator[Node]:
        now, profile = mode.now, mode.now.profile
        while self.heap:
            node = now.evaluating = heappop(self.heap).node
            if profile is not None:
                profile.enter(node)
            yield node
        if profile is not None:
            profile.enter(None)


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


_finish = compiled(_finish)
_walk = compiled(_walk)
