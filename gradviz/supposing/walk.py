"""A backward pass in a side buffer: nodes are called one by one, and no leaf is told.

A node that is called as a function runs neither its own hooks nor those of tensors, and
nothing reaches ``.grad``. Nodes run in the order of the engine.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from gradviz.errors import CaptureError
from gradviz.stepping.graph import leaf_of

Place = tuple[Any, int]
"""An output of a node, where a gradient arrives; or an input, where one is sent on."""


@dataclass(frozen=True, slots=True)
class Output:
    """An output of a node, where no tensor is at hand that says so."""

    node: Any
    number: int = 0


Alter = Callable[[Any], Any]
"""From a gradient, or None, to the one that takes its place."""

Derive = Callable[[list[Any]], Any]
"""From what arrives at the outputs of a node to what its derivative sends on."""

FREED = (
    "an earlier backward() freed this graph, and with it what its derivatives read: "
    "ask before backward(), or run it with `loss.backward(retain_graph=True)`"
)
_CIRCLE = "without this cut the gradient would run in a circle"
_WRITES_GRAD = (
    "`checkpoint(use_reentrant=True)` writes .grad itself whenever its backward runs; "
    "with use_reentrant=False this can be answered"
)


@dataclass(frozen=True, slots=True)
class Bridge:
    """Where the gradient of a value goes on that was cut off what made it."""

    into: Place  # what made the value
    derive: Derive


@dataclass(frozen=True, slots=True)
class Plan:
    """What is another way in the pass; empty for the pass as it is."""

    arriving: dict[Place, tuple[Alter, ...]] = field(default_factory=dict)
    sending: dict[Place, tuple[Alter, ...]] = field(default_factory=dict)
    passing: dict[Any, int] = field(default_factory=dict)  # node -> input: as identity
    bridges: dict[Any, tuple[Bridge, ...]] = field(default_factory=dict)

    def behind(self, node: Any) -> Iterator[Place]:
        """Yield where the gradients of a node go, an entry for each that is awaited."""
        yield from (edge for edge in node.next_functions if edge[0] is not None)
        yield from (bridge.into for bridge in self.bridges.get(node, ()))


class Walk:
    """One pass from an output of a node; what reaches leaves is kept here alone."""

    def __init__(self, library: Any, plan: Plan) -> None:
        self._library = library
        self._plan = plan
        self._arrived: dict[Any, dict[int, Any]] = {}

    def run(self, root: Place, gradient: Any) -> dict[Any, Any]:
        """Return the gradient of each AccumulateGrad behind the root; None: none came.

        Raises CaptureError where the graph was freed.
        """
        found: dict[Any, Any] = {}
        self._arrived = {}
        self._add(root, gradient)
        with self._library.no_grad():
            for node in self._in_order(root[0]):
                received = self._received(node)
                if leaf_of(node) is not None:
                    found[node] = received[0]
                self._send(node, received)
        return found

    def _in_order(self, root: Any) -> Iterator[Any]:
        """Yield each node once all it awaits has come, the latest made first."""
        awaited = _awaited(root, self._plan)
        turns = itertools.count()
        ready = [(-root._sequence_nr(), next(turns), root)]
        while ready:
            node = heapq.heappop(ready)[2]
            yield node
            for behind, _ in self._plan.behind(node):
                awaited[behind] -= 1
                if not awaited[behind]:
                    entry = -behind._sequence_nr(), next(turns), behind
                    heapq.heappush(ready, entry)
        if any(awaited.values()):
            raise CaptureError(_CIRCLE)

    def _received(self, node: Any) -> list[Any]:
        """Return what has arrived at each output, changed as planned; forget it."""
        arrived = self._arrived.pop(node, {})
        outputs = range(len(node._input_metadata))
        return [
            _altered(self._plan.arriving, (node, output), arrived.get(output))
            for output in outputs
        ]

    def _send(self, node: Any, received: list[Any]) -> None:
        at = self._plan.passing.get(node)
        if at is not None:
            sent: Iterable[Any] = [None] * at + [received[0]]
        elif leaf_of(node) is None and any(each is not None for each in received):
            sent = self._run_node(node, received)
        else:
            sent = ()
        padded = itertools.chain(sent, itertools.repeat(None))
        for number, (edge, gradient) in enumerate(
            zip(node.next_functions, padded, strict=False)
        ):
            if edge[0] is not None:
                self._add(edge, _altered(self._plan.sending, (node, number), gradient))
        for bridge in self._plan.bridges.get(node, ()):
            if any(each is not None for each in received):
                self._add(bridge.into, bridge.derive(received))

    def _run_node(self, node: Any, received: list[Any]) -> list[Any]:
        """Call a node; return one gradient, or None, for each of its inputs."""
        if type(node).__name__ == "CheckpointFunctionBackward":
            raise CaptureError(_WRITES_GRAD)
        try:
            sent = node(*received) if callable(node) else self._custom(node, received)
        except RuntimeError as error:
            said = str(error)
            freed = "second time" in said or "have been freed" in said
            raise CaptureError(FREED) from None if freed else error
        return list(sent) if isinstance(sent, tuple | list) else [sent]

    def _custom(self, node: Any, received: list[Any]) -> list[Any]:
        """Call the backward of a user's Function of PyTorch, as its C++ node does.

        Whether ``ctx`` asks for None or for zeros cannot be read; it gets zeros.
        """
        metadata = node._input_metadata
        filled = [
            self._library.zeros(tuple(of.shape), dtype=of.dtype, device=of.device)
            if gradient is None
            else gradient
            for gradient, of in zip(received, metadata, strict=True)
        ]
        sent = node.apply(*filled)
        sent = sent if isinstance(sent, tuple | list) else (sent,)
        wanted = zip(sent, node.needs_input_grad, strict=False)
        given = iter([gradient for gradient, needed in wanted if needed])
        return [
            None if behind is None else next(given, None)
            for behind, _ in node.next_functions
        ]

    def _add(self, place: Place, gradient: Any) -> None:
        """Add to what has arrived at an output, in its shape and dtype."""
        if gradient is None:
            return
        node, output = place
        gradient = fitted(gradient, node._input_metadata[output])
        arrived = self._arrived.setdefault(node, {})
        before = arrived.get(output)
        arrived[output] = gradient if before is None else before + gradient


def fitted(gradient: Any, metadata: Any) -> Any:
    """Return a gradient in the shape and dtype of the output that it belongs to."""
    if tuple(gradient.shape) != tuple(metadata.shape):
        gradient = gradient.sum_to_size(tuple(metadata.shape))
    return gradient if gradient.dtype == metadata.dtype else gradient.to(metadata.dtype)


def _altered(changes: dict[Place, tuple[Alter, ...]], at: Place, gradient: Any) -> Any:
    for alter in changes.get(at, ()):
        gradient = alter(gradient)
    return gradient


def _awaited(root: Any, plan: Plan) -> dict[Any, int]:
    """Return how many gradients each node behind the root awaits.

    Raises CaptureError for a circle through the root, which bridges alone can make.
    """
    awaited: dict[Any, int] = {root: 0}
    waiting = [root]
    while waiting:
        for behind, _ in plan.behind(waiting.pop()):
            if behind not in awaited:
                awaited[behind] = 0
                waiting.append(behind)
            awaited[behind] += 1
    if awaited[root]:
        raise CaptureError(_CIRCLE)
    return awaited
