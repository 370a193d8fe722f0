"""What graphs of gradtape are made with, beside the records of the log."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from gradtape._debug import Tensor, accumulator_of
from gradviz._capture.adapters.gradtape.graph_walk import PRODUCER
from gradviz._capture.adapters.gradtape.log import GradtapeLog
from gradviz._capture.adapters.gradtape.op_facts import (
    arguments_of,
    formula_of,
    hooks_of,
)
from gradviz._capture.detail import Detail
from gradviz._capture.names.hooks import Hook
from gradviz._capture.recorder.call_text import source_of
from gradviz._capture.recorder.engine import GraphFacts, Inside, Operation
from gradviz._capture.recorder.raw import RawNode, RawTensor
from gradviz.program.events import Backward
from gradviz.program.values import Node, Value


class GradtapeEngine:
    """Opens logs of gradtape."""

    tensor_type: type = Tensor

    def innermost(self) -> GradtapeLog | None:
        """Return nothing: a log that somebody else opened may look at no values."""
        return None

    def open(self, values: bool, detail: Detail) -> GradtapeLog:
        """Return a new log."""
        return GradtapeLog(scan=values)

    def watch(self, log: GradtapeLog, steps: int, thumbnails: bool) -> None:
        """Let a log note also what a picture of the last steps needs."""
        log.watch_details(steps, thumbnails)

    def facts(self, log: GradtapeLog) -> GraphFacts:
        """Return what is known of the graph in a log."""
        return GradtapeFacts(log)

    def hooks_of(self, tensor: Any) -> tuple[Hook, ...] | None:
        """Return the hooks on a leaf; None for what is no leaf."""
        if tensor._grad_fn is not None or not tensor._needs:
            return None
        return hooks_of(accumulator_of(tensor))

    def number_of(self, tensor: Any) -> float | None:
        """Return the one number in a tensor; None where asking for it would wait."""
        data = tensor._data
        if not isinstance(data, np.ndarray) or data.size != 1 or data.dtype.kind == "c":
            return None
        return float(data.reshape(())[()])


ENGINE = GradtapeEngine()

_INPUTS = 5  # place of their number in what is noted of an op

_FORGOTTEN = (
    "The oldest {count} events of a long stretch without gradients were forgotten."
)


class GradtapeFacts:
    """See :class:`gradviz._capture.recorder.engine.GraphFacts`."""

    producer = PRODUCER
    tells_inside = True

    def __init__(self, log: GradtapeLog) -> None:
        self._log = log
        self._details = log.details

    def settle(self, nodes: Iterable[int] | None = None) -> None:
        """Make the rows of nodes that were only noted."""
        with self._log.lock:
            if nodes is None:
                self._log.passes.finish()
            else:
                self._log.passes.ahead.finish(nodes)

    @contextmanager
    def reading(self) -> Generator[None, None, None]:
        """Forget no old pass meanwhile."""
        before, self._details.reading = self._details.reading, True
        try:
            yield
        finally:
            self._details.reading = before

    def layout(self, value: Value) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return shape and strides."""
        return value.shape, value.strides

    def size(self, storage: int) -> tuple[int, int]:
        """Return how many bytes memory has, and how many an element."""
        return self._log.reader.sizes.get(storage, (0, 1))

    def count(self) -> int:
        """Return how many nodes were made while somebody listened."""
        return len(self._details.made)

    def values(self, node: Node) -> Sequence[Value]:
        """Return the tensors that the op of a node took and gave; of a leaf, it."""
        made = self._details.made.get(node.key)
        if made is None:
            return node.outputs
        return [self._log.program.value(glance) for glance in made[_INPUTS + 1 :]]

    def operation(self, key: int) -> Operation | None:
        """Return the op that made a node, where it ran while the log was open."""
        made = self._details.made.get(key)
        if made is None:
            return None
        name, kind, op, params, code, count, *glances = made
        values = [self._log.program.value(glance) for glance in glances]
        return Operation(
            name,
            kind,
            () if op is None else arguments_of(op, params),
            values[:count],
            values[count:],
            source_of(code) if op is None else formula_of(op),
        )

    def is_gone(self, key: int) -> bool:
        """Tell whether a node died, and what it saved with it."""
        node = self._details.nodes.get(key)
        return node is not None and node() is None

    def lay_out(self, node: Node, raw: RawNode, source: RawTensor) -> None:
        """Every result was seen."""

    def hooks(self) -> Mapping[int, tuple[Hook, ...]]:
        """Return hooks that were on nodes when one of them ran."""
        return self._details.hooks

    def inside(self, event: Backward) -> Sequence[Inside]:
        """Return the hooks and ops that ran inside a pass, in order."""
        return self._details.ran.get(event.index, ())

    def notes(self, nodes: Mapping[int, RawNode], bare: int) -> list[str]:
        """Say what was forgotten; all is seen."""
        count = self._log.forgotten
        if not count:
            return []
        return [_FORGOTTEN.format(count=count)]
