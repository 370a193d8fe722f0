"""What was measured, and how it is told."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import statistics
import textwrap
from collections.abc import Generator, Iterable
from typing import Any

import numpy as np

from ...ops.tensor.settings import get_num_threads, set_num_threads

_NOISY, _VERY_NOISY = 0.1, 0.25
"""Shares of the median above which the middle half of the times is too wide."""

_Z_95 = 1.645
_CLOCK = 25e-9  # seconds; no measurement is more certain than this
_UNITS = {
    "ns": (1e-9, "nanosecond"),
    "us": (1e-6, "microsecond"),
    "ms": (1e-3, "millisecond"),
    "s": (1, "second"),
}


@dataclasses.dataclass(repr=False, frozen=True)
class TaskSpec:
    """What a timer was asked to do, without its globals."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement where there is none."""
        told = "" if not self.sub_label else f": {self.sub_label}"
        if self.label is not None:
            return self.label + told
        if "\n" not in self.stmt:
            return self.stmt + told
        told = f" ({self.sub_label})" if self.sub_label else ""
        return f"stmt:{told}\n{textwrap.indent(self.stmt, '  ')}"

    def setup_str(self) -> str:
        """Return the setup as the summary shows it; nothing for none."""
        if not self.setup or self.setup == "pass":
            return ""
        if "\n" in self.setup:
            return f"setup:\n{textwrap.indent(self.setup, '  ')}"
        return f"setup: {self.setup}"

    def summarize(self) -> str:
        """Return title, description and setup, one below the other."""
        parts = (self.title, self.description or "", self.setup_str())
        return "\n".join(f"{p}\n" if "\n" in p else p for p in parts if p)


@dataclasses.dataclass(repr=False)
class Measurement:
    """The times of a statement, in seconds, and their statistics.

    Each of ``raw_times`` is what ``number_per_run`` runs took together. Fields of the
    ``task_spec`` can be read here too.
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name in TaskSpec.__dataclass_fields__:
            return getattr(self.task_spec, name)
        raise AttributeError(
            f"{type(self).__name__!r} object has no attribute {name!r}"
        )

    @property
    def times(self) -> list[float]:
        """Seconds per run."""
        return [each / self.number_per_run for each in self.raw_times]

    def _quantile(self, share: float) -> float:
        return float(np.quantile(self.times, share)) if self.raw_times else -1.0

    @property
    def median(self) -> float:
        """The time that half of the runs stayed below."""
        return self._quantile(0.5)

    @property
    def mean(self) -> float:
        """The average time."""
        return statistics.fmean(self.times) if self.raw_times else -1.0

    @property
    def iqr(self) -> float:
        """How wide the middle half of the times is."""
        return self._quantile(0.75) - self._quantile(0.25)

    @property
    def significant_figures(self) -> int:
        """How many figures of the median mean something, roughly; one to four."""
        count = len(self.raw_times)
        middle = sorted(self.times)[count // 4 : math.ceil(3 * count / 4)]
        error = _Z_95 * statistics.pstdev(middle) / math.sqrt(len(middle))
        figures = math.floor(math.log10(self.median / max(error, _CLOCK)))
        return min(max(figures, 1), 4)

    @property
    def has_warnings(self) -> bool:
        """Whether the times vary so much that the repr says so."""
        return bool(self._warnings())

    def meets_confidence(self, threshold: float = _NOISY) -> bool:
        """Tell whether the middle half is narrower than this share of the median."""
        return self.iqr / self.median < threshold

    def _warnings(self) -> str:
        if not self.raw_times or self.meets_confidence(_NOISY):
            return ""
        cause = "This could indicate system fluctuation."
        if not self.meets_confidence(_VERY_NOISY):
            cause = "This suggests significant environmental influence."
        return (
            f"  WARNING: Interquartile range is {self.iqr / self.median * 100:.1f}% "
            f"of the median measurement.\n           {cause}"
        )

    @property
    def title(self) -> str:
        """The task's title."""
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        """What a table calls this measurement's row."""
        return self.sub_label or self.stmt or "[Unknown]"

    def __repr__(self) -> str:
        count = len(self.raw_times)
        unit, scale = select_unit(self.median)
        low, high = self._quantile(0.25), self._quantile(0.75)
        lines = [
            object.__repr__(self),
            self.task_spec.summarize(),
            f"  {'Median: ' if count > 1 else ''}{self.median / scale:.2f} {unit}",
        ]
        if count >= 4:
            lines.append(
                f"  IQR:    {self.iqr / scale:.2f} {unit} ({low / scale:.2f} to "
                f"{high / scale:.2f})"
            )
        lines.append(
            f"  {count} measurement{'s' if count > 1 else ''}, {self.number_per_run} "
            f"runs {'per measurement,' if count > 1 else ','} {self.num_threads} "
            f"thread{'s' if self.num_threads > 1 else ''}"
        )
        lines.append(self._warnings())
        return "\n".join(lines).strip()

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Return one measurement per task, with the times per run of all of its own."""
        groups: dict[TaskSpec, list[float]] = {}
        for each in measurements:
            groups.setdefault(each.task_spec, []).extend(each.times)
        return [Measurement(1, times, task) for task, times in groups.items()]


def select_unit(t: float) -> tuple[str, float]:
    """Return the unit in which a time is between 1 and 1000, and its seconds."""
    step = int(math.log10(t) // 3) if t > 0 else 0
    unit = {-3: "ns", -2: "us", -1: "ms"}.get(step, "s")
    return unit, _UNITS[unit][0]


def unit_to_english(u: str) -> str:
    """Return a unit's name in full."""
    return _UNITS[u][1]


def trim_sigfig(x: float, n: int) -> float:
    """Return a number rounded to some significant figures.

    >>> from gradtape.utils.benchmark import trim_sigfig
    >>> trim_sigfig(3.14159, 2)
    3.1
    """
    if n != int(n):
        raise AssertionError("Number of significant figures must be an integer")
    return float(f"{x:.{int(n) - 1}e}")


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """Return the elements in order, each once."""
    return list(dict.fromkeys(elements))


@contextlib.contextmanager
def set_torch_threads(n: int) -> Generator[None]:
    """Compute in ``n`` threads inside the block."""
    before = get_num_threads()
    try:
        set_num_threads(n)
        yield
    finally:
        set_num_threads(before)
