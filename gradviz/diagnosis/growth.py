"""A value that grows from turn to turn of a loop, until something overflows."""

from __future__ import annotations

from dataclasses import dataclass

from gradviz.diagnosis.gradient_flow import magnitude
from gradviz.program import Call, History, RawSite, Value

_RUNS = 8  # of one line
_FACTOR = 1e6  # from its first run to its last
_MOST = 2_000  # calls that are walked back


@dataclass(frozen=True, slots=True)
class Growth:
    """A line whose result grew with each run."""

    site: RawSite
    runs: int
    first: float  # largest element after the first run
    last: float

    @property
    def per_run(self) -> float:
        """By which factor it grew from run to run."""
        return (self.last / self.first) ** (1 / (self.runs - 1))


def growth(history: History, call: Call | None) -> Growth | None:
    """Return the line that made the operands of a call so large, if one ran often.

    Walks back from the largest operand to what it was made of, by the largest.
    """
    sizes: dict[RawSite, list[float]] = {}
    seen = set[int]()
    while call is not None and call.index not in seen and len(seen) < _MOST:
        seen.add(call.index)
        largest = max(call.inputs, key=_size, default=None)
        call = None if largest is None else history.producer(largest, before=call.index)
        if call is not None and call.site is not None and largest is not None:
            sizes.setdefault(call.site, []).append(_size(largest))
    found = [
        Growth(site, len(found), max(found[-1], 1e-12), found[0])
        for site, found in sizes.items()
        if len(found) >= _RUNS and found[0] >= _FACTOR * max(found[-1], 1e-12)
    ]
    return max(found, key=lambda each: each.per_run * each.runs, default=None)


def _size(value: Value) -> float:
    """Return the largest magnitude of a tensor; 0 where nobody looked."""
    return magnitude(value.summary) or 0.0
