"""What ran in one pass, in one flat list: arrays as they were, looked at when read."""

from __future__ import annotations

import threading
from typing import Any

from gradviz._capture.adapters.gradtape.value_scan import Kept, Scan
from gradviz.program.values import NodeRun, Summary

_reading = threading.RLock()  # a live view reads while the program goes on


class PassRuns:
    """The runs of a pass, which become records when someone asks for them.

    For each run there are its node, how long it took, what was in ``.grad`` before, the
    number of gradients that came and these, the number of those that left and these.
    """

    __slots__ = ("_cells", "_kept", "_read", "_runs", "count", "nbytes", "passes")

    def __init__(self) -> None:
        self._cells: list[Any] = []
        self._runs: list[NodeRun] = []
        self._read = 0  # how many cells these are made of
        self._kept: dict[int, Kept] = {}  # summaries of copies, by id
        self.count = 0  # runs that began
        self.nbytes = 0  # of all copies
        self.passes = 0  # that were over when this one began

    # ---- while it runs --------------------------------------------------------------

    def enter(self, key: int, gradients: Any, scan: Scan) -> int:
        """Note that a node is about to run; return what :meth:`leave` is to be told."""
        place = len(self._cells)
        self.count += 1
        self._cells += key, None, None, len(gradients)
        self._cells += [scan.copied(each, self) for each in gradients]
        self._cells.append(0)
        return place

    def leave(
        self, place: int, gradients: Any, scan: Scan, elapsed_ns: int | None
    ) -> None:
        """Note what a node gave."""
        cells = self._cells
        cells[place + 1] = elapsed_ns
        cells[-1] = len(gradients)
        cells += [scan.copied(each, self) for each in gradients]

    def accumulated(self, key: int, gradient: Any, grad: Any, scan: Scan) -> None:
        """Note what a leaf took in, and what it has where it had something before."""
        self.count += 1
        before = None if grad is None else scan.moment(grad, self)
        self._cells += key, None, before, 1, scan.copied(gradient, self), 0

    # ---- afterwards -----------------------------------------------------------------

    def records(self) -> list[NodeRun]:
        """Return what ran so far."""
        with _reading:
            if self._read != len(self._cells):
                self._runs, at = [], 0
                while at < len(self._cells):
                    at = self._add(at)
                self._read = at
            return self._runs

    def at_leaves(self) -> list[tuple[int, Summary]]:
        """Return each leaf's node with what came to it, without records of the others.

        See :meth:`gradviz.program.events.Runs.at_leaves`.
        """
        with _reading:
            came = [(run.node, run.incoming[0]) for run in self._runs if run.node < 0]
            cells, at = self._cells, self._read
            while at < len(cells):
                key, count = cells[at], cells[at + 3]
                if key < 0:
                    came.append((key, self._summary(cells[at + 4])))
                at += 4 + count
                at += 1 + cells[at]
        return [(key, each) for key, each in came if each is not None]

    def _add(self, at: int) -> int:
        key, elapsed, grad, count = self._cells[at : at + 4]
        at += 4
        incoming = self._summaries(at, count)
        at += count
        count = self._cells[at]
        outgoing = self._summaries(at + 1, count)
        run = NodeRun(key, incoming, outgoing, elapsed, self._summary(grad))
        self._runs.append(run)
        return at + 1 + count

    def _summaries(self, at: int, count: int) -> tuple[Summary | None, ...]:
        return tuple([self._summary(each) for each in self._cells[at : at + count]])

    def _summary(self, cell: Any) -> Summary | None:
        if cell is None or isinstance(cell, Summary):
            return cell
        kept = self._kept.get(id(cell))
        if kept is None:
            kept = self._kept[id(cell)] = Kept.of(cell)
        return kept

    def settle(self, in_full: bool) -> None:
        """Work out all, and let go of the arrays; the pass is over."""
        with _reading:
            self.records()
            for kept in self._kept.values():
                kept.settle(in_full)
            self._kept.clear()
            self._cells.clear()
            self._read = 0
