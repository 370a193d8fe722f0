"""Statistics of gradients, each array summarized once although it is met twice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from gradtape._debug import META
from gradviz._capture.names.weak_records import Known
from gradviz._capture.recorder.raw import RawStatistics
from gradviz._capture.statistics.summary import summarize


def summary_of(array: Any) -> RawStatistics | None:
    """Summarize an array; None for one on the meta device, which has no values."""
    return None if type(array) is META.array_type else summarize(array)


class Summaries:
    """Remembers what was summarized during one backward pass, by weak reference.

    A gradient that leaves one node enters the next unchanged, so half of all
    summaries are free.
    """

    def __init__(self) -> None:
        self._known: Known[Any, RawStatistics] = Known()

    def of(self, array: Any) -> RawStatistics | None:
        """Return the summary of an array; None for a gradient that is not there."""
        if array is None:
            return None
        summary = self._known.get(array)
        if summary is None:
            summary = summary_of(array)
            if summary is not None and not isinstance(array, np.generic):
                self._known.add(array, summary)
        return summary

    def of_all(self, arrays: Iterable[Any]) -> tuple[RawStatistics | None, ...]:
        """Return the summaries of arrays."""
        return tuple([self.of(array) for array in arrays])

    def clear(self) -> None:
        """Forget everything; the pass is over."""
        self._known = Known()
