"""Statistics of gradients, each array summarized once although it is met twice."""

from __future__ import annotations

import weakref
from typing import Any

from gradviz import ir
from gradviz._capture._stats import statistics


class Summaries:
    """Remembers what was summarized during one backward pass, by weak reference.

    A gradient that leaves one node enters the next unchanged, so half of all
    summaries are free.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, ir.Statistics]] = {}

    def of(self, array: Any) -> ir.Statistics | None:
        """Return the statistics of an array; None for a gradient that is not there."""
        if array is None:
            return None
        known = self._known.get(id(array))
        if known is not None and known[0]() is array:
            return known[1]
        summary = statistics(array)
        try:
            reference = weakref.ref(array)
        except TypeError:  # NumPy's scalars
            return summary
        self._known[id(array)] = reference, summary
        return summary

    def clear(self) -> None:
        """Forget everything; the pass is over."""
        self._known.clear()
