"""The backward loop: walk the recorded graph from its roots and hand out gradients.

Nodes run in reverse order of recording, so that a node's gradient is complete when it
runs; leaves take in theirs as soon as it is complete. No recursion anywhere: depth is
bounded by memory alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

from ._accumulate import accumulate
from ._anomaly import anomaly
from ._anomaly_report import announced, new_check, report
from ._define import raw_ops, tensor_ops
from ._mode import mode
from ._node import LARGE, AccumulateGrad, Node
from ._node_hooks import run_leaf_hooks, run_post_hooks, run_pre_hooks
from ._observe import (
    BackwardBegan,
    BackwardEnded,
    NodeEntered,
    NodeLeft,
    notify,
    observers,
)
from ._ownership import is_fresh
from ._reduce import fit
from ._site import caller_site
from ._tensor import Tensor

by_sequence = attrgetter("seq")
Edge = tuple[Node, int]


class Run:
    """One backward pass: gradients under way, leaves still waiting, what to keep."""

    __slots__ = ("arriving", "capture", "keep", "owned", "ready", "space", "waiting")

    def __init__(self, F: Any, keep: bool) -> None:
        self.space = F
        self.keep = keep
        self.arriving: dict[Node, Any] = {}  # one gradient, or a list per output
        self.owned: set[Node] = set()  # whose gradient is a buffer of ours
        self.waiting: dict[Node, int] = {}  # edges still to come, for leaves
        self.ready: list[AccumulateGrad] = []
        self.capture: dict[Edge, Any] | None = None  # autograd.grad's results

    def deliver(self, node: Node, number: int, grad: Any, owned: bool = False) -> None:
        """Add one gradient to what has arrived at an output of ``node``.

        ``owned`` says that nobody else refers to the gradient's memory.
        """
        if grad is not None:
            layouts = node.layouts
            layout = layouts[number]
            if grad.shape != layout[0] or grad.dtype is not layout[2]:
                grad = fit(self.space, grad, layout)
            arriving = self.arriving
            if len(layouts) > 1:
                slots = arriving.setdefault(node, [None] * len(layouts))
                old = slots[number]
                slots[number] = grad if old is None else old + grad
            elif node in arriving:
                arriving[node] = self.add(node, arriving[node], grad)
            else:
                arriving[node] = grad
                if owned:
                    self.owned.add(node)
        if node.accumulates:
            left = self.waiting[node] = self.waiting[node] - 1
            if not left:
                self.ready.append(node)  # type: ignore[arg-type]

    def add(self, node: Node, old: Any, new: Any) -> Any:
        """Add two gradients, in place once the sum is a buffer nobody else sees."""
        if not self.space.raw:
            return old + new
        if node in self.owned:
            return mode.run(old.__iadd__, new)
        total = mode.run(old.__add__, new)
        if total.size > LARGE:
            self.owned.add(node)
        return total

    def accumulate_ready(self) -> None:
        """Let the leaves whose gradient is complete take it in."""
        while self.ready:
            leaf = self.ready.pop(0)
            if anomaly.enabled:
                mode.now.evaluating = leaf
            grad = self.arriving.pop(leaf, None)
            if grad is None:
                continue
            owned = leaf in self.owned
            if self.capture is not None:
                grad = run_leaf_hooks(self.space, leaf, grad)
                if (leaf, 0) in self.capture:
                    self.capture[leaf, 0] = grad
                continue
            accumulate(self.space, leaf, grad, owned)


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
    taped = create_graph or mode.now.duals is not None  # tangents go through backward
    space = tensor_ops if taped else raw_ops(gradients[0]._data)
    run = Run(space, retain_graph)
    if targets is not None and not accumulating:
        run.capture = dict.fromkeys(targets)
    order, needed = collect(roots, targets, run.waiting)
    before, outer = mode.grad, mode.now.evaluating
    mode.grad = create_graph
    error: BaseException | None = None
    if observers:
        notify(BackwardBegan([node for node, _ in roots], order, caller_site()))
    try:
        for (node, number), grad in zip(roots, gradients, strict=True):
            run.deliver(node, number, grad if taped else grad._data)
        run.accumulate_ready()
        _walk(run, order, needed)
    except BaseException as caught:
        error = caught
        failing = mode.now.evaluating
        if failing is not None and anomaly.enabled:
            report(failing)
        raise
    finally:
        mode.grad, mode.now.evaluating = before, outer
        if observers:
            notify(BackwardEnded(error))
    found = run.capture
    return [] if found is None else [found[t] for t in targets or ()]


def collect(
    roots: Sequence[Edge],
    targets: Sequence[Edge] | None,
    waiting: dict[Node, int],
) -> tuple[list[Node], set[Node] | None]:
    """Return the nodes to run, latest first, and which of them lead to the targets.

    ``waiting`` is filled with the number of gradients each leaf will get.
    """
    order: list[Node] = []
    seen: set[Node] = set()
    found: Iterable[Node | None] = [node for node, _ in roots]
    reached = 0
    while True:
        for node in found:
            if node is None:
                continue
            if node.accumulates:
                waiting[node] = waiting.get(node, 0) + 1
            elif node not in seen:
                seen.add(node)
                order.append(node)
        if reached == len(order):
            break
        found = order[reached].nodes
        reached += 1
    order.sort(key=by_sequence, reverse=True)
    if targets is None:
        return order, None
    needed = {node for node, _ in targets}
    for node in reversed(order):  # earliest first: what it leads to is known
        if not needed.isdisjoint(node.nodes):
            needed.add(node)
    return order, needed


def _walk(run: Run, order: list[Node], needed: set[Node] | None) -> None:
    F, keep, deliver, raw = run.space, run.keep, run.deliver, run.space.raw
    arriving, ready = run.arriving, run.ready
    take = arriving.pop
    watched = needed is not None or bool(observers)
    check = None
    if anomaly.enabled:
        check = new_check() if anomaly.check_nan else None
        order = announced(order)  # type: ignore[assignment]
    for node in order:
        grad = take(node, None)
        if grad is None:
            outgoing: Sequence[Any] = (None,) * len(node.nodes)
        elif watched or node.extra is not None:
            outgoing = _run_watched(run, node, grad, needed)
        else:
            try:
                outgoing = node.run(F, grad)
            except RuntimeError as error:
                raise _placed(error, node)  # noqa: B904 - the same error, with a note
        if check is not None:
            check(node, grad, outgoing)
        for following, number, out in zip(node.nodes, node.numbers, outgoing):  # noqa: B905 - checked by run()
            if following is None or (needed is not None and following not in needed):
                continue
            if raw and out is not None:
                layout = following.layout  # None: several outputs, or a leaf
                if (  # deliver()'s commonest case, inlined
                    layout is not None
                    and not layout[3]
                    and following not in arriving
                    and out.dtype is layout[2]
                    and out.shape == layout[0]
                ):
                    arriving[following] = out
                    continue
                if out.size > LARGE:
                    owned = node in run.owned and node.extra is None
                    fresh = is_fresh(node, grad, owned, out, outgoing)
                    deliver(following, number, out, fresh)
                    continue
            deliver(following, number, out)
        if ready:
            run.accumulate_ready()
        if node.saved and not keep and grad is not None:
            node.free()


def _run_watched(
    run: Run,
    node: Node,
    grad: Any,
    needed: set[Node] | None,
) -> Sequence[Any]:
    """Run a node that has hooks, is observed, or lies in a limited pass."""
    F = run.space
    if node.extra is not None:
        grad = run_pre_hooks(F, node, grad)
    if run.capture is not None:
        _capture(run.capture, node, grad)
    if needed is not None and needed.isdisjoint(node.nodes):
        return (None,) * len(node.nodes)
    if observers:
        notify(NodeEntered(node, _arrays(grad)))
    try:
        outgoing = node.run(F, grad)
    except RuntimeError as error:
        raise _placed(error, node)  # noqa: B904 - the same error, with a note
    if node.extra is not None and node.extra.post_hooks:
        outgoing = run_post_hooks(F, node, outgoing, grad)
    if observers:
        notify(NodeLeft(node, _arrays(outgoing)))
    return outgoing


def _placed(error: RuntimeError, node: Node) -> RuntimeError:
    """Say on the error which node failed and which line recorded it."""
    if node.site is not None and not hasattr(error, "gradtape_node"):
        error.gradtape_node = node.name()  # type: ignore[attr-defined]
        error.add_note(f"raised in {node.name()}, recorded at {node.site}")
    return error


def _arrays(gradients: Any) -> list[Any]:
    each = gradients if isinstance(gradients, list | tuple) else [gradients]
    return [g._data if isinstance(g, Tensor) else g for g in each]


def _capture(capture: dict[Edge, Any], node: Node, grad: Any) -> None:
    for number in range(len(node.layouts)):
        if (node, number) in capture:
            capture[node, number] = grad[number] if isinstance(grad, list) else grad
