"""GraphTask: the state of one backward pass, and what programs may ask about it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from operator import length_hint
from typing import Any

import numpy as np

from .._backend import backend_of
from .._common import messages as _errors
from .._common.compiled import compiled
from .._dispatch.sum_to_shape import MisfitError, fit
from .._graph.node import Node
from .._graph.output_layout import LARGE
from .._modes.grad_mode import mode
from .._storage.ownership import is_only_ours, may_overwrite
from .._storage.result_strides import laid_out
from .order import Edge, execution_order

next_task_id = itertools.count().__next__


class GraphTask:
    """One backward pass: gradients under way, who awaits how many, what to keep.

    ``needed`` are the nodes to run, ``wanted`` also those whose gradient is taken
    out; both are None where all of them run and nothing is taken out.
    """

    __slots__ = (
        "arriving",
        "callbacks",
        "can_checkpoint",
        "capture",
        "create_graph",
        "depth",
        "id",
        "keep",
        "needed",
        "order",
        "roots",
        "space",
        "steps",
        "waiting",
        "wanted",
    )

    def __init__(
        self, space: Any, roots: Sequence[Edge], keep: bool, create_graph: bool
    ) -> None:
        outer = mode.now.task
        self.id = next_task_id()
        self.depth: int = 0 if outer is None else outer.depth + 1
        self.space = space
        self.roots = roots
        self.keep = keep
        self.create_graph = create_graph
        self.arriving: dict[Node, Any] = {}  # one gradient, or a list per output
        self.waiting: dict[Node, int] = {}  # gradients still to come
        self.order: list[Node] = []
        self.steps: Iterator[Node] | None = None
        self.capture: dict[Edge, Any] | None = None  # autograd.grad's results
        self.needed: set[Node] | None = None
        self.wanted: set[Node] | None = None
        self.can_checkpoint = outer is None or outer.can_checkpoint
        self.callbacks: list[Callable[[], Any]] = []

    def place(self, node: Node, number: int, grad: Any, source: Node | None) -> None:
        """Add one gradient, made by ``source``, to what an output of ``node`` has."""
        if grad is None:
            return
        layouts = node.layouts
        layout = layouts[number]
        if grad.shape != layout[0] or grad.dtype is not layout[2]:
            grad = self.fitted(node, number, grad, source)
        arriving = self.arriving
        if len(layouts) > 1:
            slots = arriving.setdefault(node, [None] * len(layouts))
            if slots[number] is not None:
                grad = self.add(slots, number, grad)
            slots[number] = grad
        elif node in arriving:
            arriving[node] = self.add(arriving, node, grad)
        else:
            arriving[node] = grad

    def fitted(self, node: Node, number: int, grad: Any, source: Node | None) -> Any:
        """Return a gradient in the shape and dtype of the output it belongs to."""
        try:
            return fit(self.space, grad, node.layouts[number])
        except MisfitError as error:
            raise invalid_gradient(error, source, node, number) from None

    def take(self, node: Node) -> list[Any]:
        """Return what has arrived at the outputs of ``node``, and forget it."""
        found = self.arriving.pop(node, None)
        if isinstance(found, list):
            return found
        return [found] if found is not None else [None] * len(node.layouts)

    def add(self, holder: Any, key: Any, new: Any) -> Any:
        """Add to the gradient in ``holder[key]``; in place if nobody else sees it."""
        old = holder[key]
        if not self.space.raw:
            return new + old if old.is_sparse and not new.is_sparse else old + new
        if old.size > LARGE and old.flags.writeable and old.dtype is new.dtype:
            holder[key] = None
            if is_only_ours(old):
                return mode.run(old.__iadd__, new)
        found = mode.run(old.__add__, new)
        if old.strides == new.strides:
            return found
        return laid_out(backend_of(found).xp, found, (old, new))

    def add_to_part(self, node: Node, grad: Any) -> bool:
        """Add the gradient of a view's part to what has arrived at the whole.

        False where nothing has, or where it must not be written: put into zeros, the
        gradient arrives as any other does.
        """
        whole, part = node.nodes[0], node.part
        if whole is None or part is None or whole.accumulates:
            return False
        old = self.arriving.pop(whole, None)
        if old is None:
            return False
        fits = type(old) is np.ndarray and old.dtype is grad.dtype
        fits = fits and may_overwrite(old) and is_only_ours(old)
        if fits:
            there = part(np, old, *node.params[:-1])
            mode.run(np.add, there, grad, there)
        self.arriving[whole] = old
        return fits


def invalid_gradient(
    error: MisfitError, source: Node | None, node: Node, number: int
) -> RuntimeError:
    """Build PyTorch's error for a gradient of an impossible shape."""
    start, index = "", 0
    if source is not None:
        start = f"Function {source.name()} returned an "
        edges = source.next_functions
        index = edges.index((node, number)) if (node, number) in edges else 0
    return RuntimeError(
        _errors.GRADIENT_MISFIT.format(
            start=start, index=index, got=error.got, expected=error.expected
        )
    )


# ---- what programs may ask while a pass runs ---------------------------------------


def queue_callback(callback: Callable[[], Any]) -> None:
    """Call ``callback()`` when the backward pass that runs now is through.

    Raises RuntimeError outside of a backward pass.
    """
    task = mode.now.task
    if task is None:
        raise RuntimeError(
            "Final callbacks can only be installed during backward pass."
        )
    task.callbacks.append(callback)


def current_id() -> int:
    """Return the number of the pass that runs in this thread; -1 if none does."""
    task = mode.now.task
    return -1 if task is None else task.id


def keeps_graph() -> bool:
    """Tell whether the pass of this thread keeps its graph; True outside of one."""
    task = mode.now.task
    return True if task is None else task.keep


def current_node() -> Node | None:
    """Return the node that runs in this thread; None outside of a pass."""
    now = mode.now
    task = now.task
    if task is None or now.evaluating is not None:
        return now.evaluating
    if task.steps is None:
        return None
    # The loop tells nobody where it is, which would cost each step something: it is
    # where its iterator is.
    return task.order[len(task.order) - length_hint(task.steps) - 1]


def current_order() -> list[Node]:
    """Return the nodes that the pass of this thread runs, in order.

    Raises RuntimeError outside of a pass, and while several threads could run it.
    """
    task = mode.now.task
    if task is None:
        raise RuntimeError(
            "_current_graph_task_execution_order should only be called during the "
            "backward pass"
        )
    if mode.now.multithreading:
        raise RuntimeError(
            "get_current_graph_task_execution_order expects the current backward to "
            "be executed with multithreading disabled, e.g. by running:\n\n"
            ">>>"
            " with torch.autograd.set_multithreading_enabled(False):\n"
            "...     torch.autograd.grad(...)\n"
        )
    return execution_order(task.roots, task.order, task.wanted)


def will_execute(node: Node) -> bool:
    """Tell whether the pass of this thread runs ``node``, or has run it.

    Raises RuntimeError outside of a pass, and for a leaf in ``autograd.grad``, which
    takes a leaf's gradient without running the leaf.
    """
    if not isinstance(node, Node):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise RuntimeError(
            "_will_engine_execute_node expects an grad_fn, but got "
            f"{type(node).__name__}"
        )
    task = mode.now.task
    if task is None:
        raise RuntimeError(
            "_get_should_execute_nodes should only be called during the backward pass"
        )
    if len(task.roots) == 1 and node is task.roots[0][0]:
        return False  # the only root is where the pass begins, not what it reaches
    if task.wanted is None:
        return node in task.waiting or node in set(task.order)
    if node not in task.wanted or (node not in task.waiting):
        return False
    if node.accumulates and task.capture is not None:
        raise RuntimeError(
            "A leaf node was passed to _will_engine_execute_node but we are currently "
            "running autograd.grad(). This is currently not supported."
        )
    return True


GraphTask.place = compiled(GraphTask.place)
GraphTask.add = compiled(GraphTask.add)
