"""What a live view follows: the last finished step of a recording, as it changes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradviz import ir
from gradviz._capture.recorder.assemble import assemble_with_rows
from gradviz._capture.recorder.gradient_flow import step_numbers
from gradviz._capture.recorder.raw import (
    RawFlowStep,
    RawNode,
    RawStatistics,
    Recording,
    as_record,
)
from gradviz.live import (
    FLOW_NUMBERS,
    FLOW_POINTS,
    STATISTICS,
    Delta,
    FlowTail,
    Progress,
)

_BINS = 32
_FEWEST_STEPS = 16  # of the flow in a delta, however many layers there are
_UNKNOWN = (None,) * len(STATISTICS)
_of_record = attrgetter(*STATISTICS)
_names = [each.name for each in fields(ir.Statistics)]
_of_tuple = itemgetter(*map(_names.index, STATISTICS))

Slots = list[RawStatistics | None]
"""The statistics of one step, in an order that equal steps share."""


class StepSource(ABC):
    """Sends a step in full, and of later steps with the same graph only the numbers."""

    def __init__(self) -> None:
        self._shape: Any = None  # of the graph that was sent
        self._statistics = 0  # how many it has
        self._rows: list[int] = []  # of its statistics
        self._places: list[int] = []  # the slot of each of these rows
        self._absent: list[int] = []  # slots without statistics
        self._layers: dict[int, int] = {}  # id of a leaf's record, or its key -> layer
        self._layer_count = 0  # with those that no gradient reached
        self._past_from = 0  # the number of the first step that was sent
        self._past = _no_points(0)  # what was sent of finished steps

    # ---- what an engine's recorder has to tell --------------------------------------

    @abstractmethod
    def version(self) -> int:
        """See :class:`gradviz.live.Source`."""

    @abstractmethod
    def hold(self) -> Any:
        """Return a context in which the recording stands still."""

    @abstractmethod
    def record(self) -> Recording:
        """Return the last finished step, or what there is before one has finished."""

    @abstractmethod
    def shape(self) -> Any:
        """Return something that is equal for steps with the same graph."""

    @abstractmethod
    def slots(self) -> Slots:
        """Return the statistics of the last finished step."""

    @abstractmethod
    def flow(self) -> tuple[Sequence[RawFlowStep], int]:
        """Return the steps of the gradient flow, and the number of the first."""

    @abstractmethod
    def leaf_key(self, leaf: RawNode) -> int:
        """Return what stays the same of a leaf."""

    @abstractmethod
    def progress(self) -> Progress:
        """See :class:`gradviz.live.Source`."""

    # ---- what the feed asks for -----------------------------------------------------

    def full(self) -> ir.Snapshot:
        """See :class:`gradviz.live.Source`."""
        with self.hold():
            recording = self.record()
            snapshot, row_of = assemble_with_rows(recording)
            shape, slots = self.shape(), self.slots()
        pairs: dict[int, int] = {}
        for place, each in enumerate(slots):
            if id(each) in row_of:  # as an input, where a leaf is one
                pairs.setdefault(row_of[id(each)], place)
        self._rows, self._places = list(pairs), list(pairs.values())
        self._absent = [place for place, each in enumerate(slots) if each is None]
        self._shape = shape
        self._statistics = len(snapshot.statistics)
        leaves: dict[int, int] = {}
        for step in recording.flow:
            for leaf in step.leaves:
                leaves.setdefault(self.leaf_key(leaf), len(leaves))
        last = len(leaves) - 1  # layers are in the order of the model
        self._layers = {key: last - at for key, at in leaves.items()}
        self._layer_count = len(snapshot.flow_layers)
        self._past_from, self._past = 0, _no_points(self._layer_count)
        return snapshot

    def delta(self) -> Delta | None:
        """See :class:`gradviz.live.Source`."""
        if self._shape is None:
            return None
        with self.hold():
            if self.shape() != self._shape:
                return None
            slots = self.slots()
            flow, first = self.flow()
            most = max(_FEWEST_STEPS, FLOW_POINTS // max(1, len(self._layers)))
            steps = list(flow[-most:])
            tail = self._tail(steps, first + len(flow) - len(steps))
        if tail is None or any(slots[place] is not None for place in self._absent):
            return None
        values = [_read(slots[place]) for place in self._places]
        matrix = np.array(values, dtype=np.float32).reshape(-1, len(STATISTICS))
        rows = np.array(self._rows, dtype=np.uint32)
        return Delta(self._statistics, rows, matrix, tail)

    def _tail(self, steps: list[RawFlowStep], first: int) -> FlowTail | None:
        """Return the last steps as columns; None where a leaf is new."""
        known = max(0, self._past_from + len(self._past) - first)
        fresh = [self._points(step) for step in steps[known:]]
        found = [points for points in fresh if points is not None]
        if len(found) < len(fresh):
            return None
        news = np.array(found, np.float32).reshape(len(found), *self._past.shape[1:])
        points = np.concatenate([self._past[len(self._past) - known :], news])
        self._past_from, self._past = first, points[:-2]  # the last ones may go on
        return FlowTail(
            step_numbers(steps, first),
            [step.time_ns for step in steps],
            [step.stepped for step in steps],
            points,
            self._histograms(steps[-1:]),
        )

    def _points(self, step: RawFlowStep) -> NDArray[np.float32] | None:
        shape = self._layer_count, len(FLOW_NUMBERS)
        points = np.full(shape, np.nan, np.float32)
        for leaf, summary in zip(step.leaves, step.summaries, strict=True):
            layer = self._layers.get(self.leaf_key(leaf))
            if layer is None:
                return None
            points[layer] = _numbers(summary)
        return points

    def _histograms(self, steps: list[RawFlowStep]) -> NDArray[np.float32]:
        histograms = np.zeros((self._layer_count, 2 + _BINS), np.float32)
        for step in steps:
            for leaf, raw in zip(step.leaves, step.summaries, strict=True):
                summary = as_record(raw)
                if summary.histogram:
                    layer = self._layers[self.leaf_key(leaf)]
                    ends = (summary.histogram_low, summary.histogram_high)
                    histograms[layer] = (*ends, *summary.histogram)
        return histograms


def _no_points(layers: int) -> NDArray[np.float32]:
    return np.empty((0, layers, len(FLOW_NUMBERS)), np.float32)


def _read(summary: RawStatistics | None) -> tuple[float | None, ...]:
    if summary is None:
        return _UNKNOWN
    if isinstance(summary, ir.Statistics):
        return _of_record(summary)
    return _of_tuple(summary)


def _numbers(summary: RawStatistics) -> tuple[float | None, ...]:
    norm, low, high, _, _, *counts = _read(summary)
    largest = None if low is None or high is None else max(abs(low), abs(high))
    return norm, largest, *counts


class FirstSource:
    """Follows the first of some sources that has something to show."""

    def __init__(self, sources: Sequence[StepSource]) -> None:
        self._sources = sources
        self._chosen: StepSource | None = None

    def version(self) -> int:
        """See :class:`gradviz.live.Source`."""
        if self._chosen is None:
            speaking = (each for each in self._sources if each.version())
            self._chosen = next(speaking, None)
        return 0 if self._chosen is None else self._chosen.version()

    def full(self) -> ir.Snapshot:
        """See :class:`gradviz.live.Source`."""
        return self._of_choice().full()

    def delta(self) -> Delta | None:
        """See :class:`gradviz.live.Source`."""
        return self._of_choice().delta()

    def progress(self) -> Progress:
        """See :class:`gradviz.live.Source`."""
        return self._of_choice().progress()

    def _of_choice(self) -> StepSource:
        if self._chosen is None:
            raise RuntimeError("nothing was recorded yet")
        return self._chosen
