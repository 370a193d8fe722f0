"""What a watch tells others while it runs: numbers of steps, findings, the page."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gradviz import ir
from gradviz.flow.table import ratio
from gradviz.watching.history import FIELDS, Row, point_of_row

MOST_LAYERS = 50
"""Parameters whose numbers are told, spread evenly over a larger model."""


class Sink(Protocol):
    """Where a watch sends what it sees; any class with these three methods will do.

    >>> class Printed:
    ...     def step(self, number, numbers): print(number, sorted(numbers)[:2])
    ...     def finding(self, number, finding): print(number, finding.code)
    ...     def end(self, page): print("the page:", page)
    """

    def step(self, number: int, numbers: Mapping[str, float]) -> None:
        """Take the numbers of a step that was looked at.

        They are ``total_gradient_norm``, ``nonfinite`` (elements of gradients that are
        NaN or Inf), ``learning_rate`` where an optimizer stepped and, of at most 50
        parameters, ``gradient_norm/NAME`` (L2) and ``update_ratio/NAME`` (the norm of
        the update over that of the weight).
        """
        ...

    def finding(self, number: int, finding: ir.Finding) -> None:
        """Take what was found at a step, which is told once."""
        ...

    def end(self, page: Path | None) -> None:
        """Take the page, if one was written; the training is over."""
        ...


class Feed:
    """Hands everything to all sinks; one that fails gets nothing more.

    A step is told when it is over: several optimizers may have a part in it.
    """

    def __init__(
        self, sinks: Iterable[Sink], first_step: int, say: Callable[[str], None]
    ) -> None:
        self._sinks = list(sinks)
        self._first = first_step
        self._say = say
        self._latest: Row | None = None

    def step(self, row: Row, layers: Sequence[ir.FlowLayer]) -> None:
        """Take a look, which may belong to the same step as the one before."""
        if self._latest is not None and self._latest is not row:
            self._tell_latest(layers)
        self._latest = row

    def forget(self) -> None:
        """Drop the step that was not told yet."""
        self._latest = None

    def finding(self, number: int, finding: ir.Finding) -> None:
        """Tell what was found at a step."""
        self._to_all(lambda sink: sink.finding(self._first + number, finding))

    def end(self, page: Path | None, layers: Sequence[ir.FlowLayer]) -> None:
        """Tell the last step, and that it was the last; a second call does nothing."""
        if self._latest is not None:
            self._tell_latest(layers)
        self._latest = None
        self._to_all(lambda sink: sink.end(page))
        self._sinks = []

    def _tell_latest(self, layers: Sequence[ir.FlowLayer]) -> None:
        row = self._latest
        if row is not None and self._sinks:
            numbers = numbers_of(row, layers)
            number = self._first + row.step.number
            self._to_all(lambda sink: sink.step(number, numbers))

    def _to_all(self, tell: Callable[[Sink], None]) -> None:
        for sink in list(self._sinks):
            try:
                tell(sink)
            except Exception as error:
                self._sinks.remove(sink)
                self._say(
                    f"{type(sink).__name__} failed and gets nothing more: "
                    f"{type(error).__name__}: {str(error)[:300]}. The training goes on."
                )


def numbers_of(row: Row, layers: Sequence[ir.FlowLayer]) -> dict[str, float]:
    """Return the numbers of a step by their names; what is not known is left out."""
    norms = row.values[:, FIELDS.index("norm")]
    bad = row.values[:, [FIELDS.index("nans"), FIELDS.index("infs")]]
    numbers = {
        "total_gradient_norm": float(np.sqrt(np.nansum(norms**2))),
        "nonfinite": float(np.nansum(bad)),
    }
    if row.step.learning_rate is not None:
        numbers["learning_rate"] = row.step.learning_rate
    for layer in _shown(row.values):
        name, point = layers[layer].name, point_of_row(row, layer)
        changed = ratio(point)
        if point.norm is not None:
            numbers[f"gradient_norm/{name}"] = point.norm
        if changed is not None:
            numbers[f"update_ratio/{name}"] = changed
    return {name: value for name, value in numbers.items() if math.isfinite(value)}


def _shown(values: NDArray[np.float64]) -> Iterator[int]:
    """Yield the layers to tell of: the same ones each time, first and last included."""
    count = len(values)
    if count <= MOST_LAYERS:
        yield from range(count)
        return
    for place in range(MOST_LAYERS):
        yield round(place * (count - 1) / (MOST_LAYERS - 1))
