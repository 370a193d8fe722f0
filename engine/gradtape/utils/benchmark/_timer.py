"""Python's ``timeit``, with warm-up, a choice of the number of runs, and statistics."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import math
import statistics
import textwrap
import timeit
from collections.abc import Callable, Generator, Iterable
from importlib import import_module
from typing import Any

import numpy as np

from ..._common.refusals import OutOfReachError
from ...ops.tensor.settings import get_num_threads, set_num_threads

timer = timeit.default_timer
Callback = Callable[[int, float], Any]

_MOST_RUNS = 2**31 - 1
_SEE = "See `Timer.blocked_autorange.`"
_C_PLUS_PLUS = (
    "Timer(language='c++') is out of reach of gradtape, because it compiles against "
    "PyTorch's C++; time a Python statement."
)
_CALLGRIND = (
    "Timer.collect_callgrind is out of reach of gradtape, because instructions of an "
    "interpreter say little about an op; use blocked_autorange."
)


class Language(enum.Enum):
    """What a statement is written in."""

    PYTHON = 0
    CPP = 1


def _dedented(code: str) -> str:
    return textwrap.dedent(code).removeprefix("\n").rstrip()


class Timer:
    """Measure how long a statement takes.

    ``globals`` are the names it uses; ``torch`` is there by itself. ``label``,
    ``sub_label``, ``description`` and ``env`` go into the results.

    >>> from gradtape.utils.benchmark import Timer
    >>> found = Timer("torch.ones(3).sum()", label="sum").timeit(10)
    >>> found.number_per_run, found.title, found.median > 0
    (10, 'sum', True)
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language not in (Language.PYTHON, "py", "python"):
            raise OutOfReachError(_C_PLUS_PLUS)
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this "
                "code can simply be moved to `setup`."
            )
        stmt, setup = _dedented(stmt), _dedented(setup)
        root = import_module(__name__.split(".", 1)[0])
        scope = {"torch": root, **(globals or {})}
        self._timer = timeit.Timer(stmt, setup, timer, scope)
        self._task_spec = TaskSpec(
            stmt, setup, global_setup, label, sub_label, description, env, num_threads
        )

    def _seconds(self, number: int) -> float:
        return max(self._timer.timeit(number), 1e-9)  # never 0: it is divided by

    def _measured(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, times, self._task_spec)

    def timeit(self, number: int = 1000000) -> Measurement:
        """Run the statement that many times, after a warm-up of a hundredth."""
        with set_torch_threads(self._task_spec.num_threads):
            self._seconds(max(number // 100, 2))
            return self._measured(number, [self._seconds(number)])

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Raise NotImplementedError: blocked_autorange repeats."""
        raise NotImplementedError(_SEE)

    def autorange(self, callback: Callback | None = None) -> None:
        """Raise NotImplementedError: blocked_autorange chooses the number of runs."""
        raise NotImplementedError(_SEE)

    def blocked_autorange(
        self, callback: Callback | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Measure blocks of runs, long enough that the clock costs nothing.

        Blocks are measured until they took ``min_run_time`` seconds together;
        ``callback`` hears of each: how many runs, how many seconds.
        """
        number = self._block_size(min_run_time)
        times = self._loop(number, min_run_time, None, callback, lambda _: True)
        return self._measured(number, times)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callback | None = None,
    ) -> Measurement:
        """Measure blocks until the times agree, or ``max_run_time`` seconds are over.

        They agree when the middle half is narrower than ``threshold`` of the median.
        """
        number = self._block_size(0.05)

        def agree(times: list[float]) -> bool:
            return len(times) > 3 and self._measured(number, times).meets_confidence(
                threshold
            )

        times = self._loop(number, min_run_time, max_run_time, callback, agree)
        return self._measured(number, times)

    def collect_callgrind(self, *_: Any, **__: Any) -> Any:
        """Raise OutOfReachError: there is no C++ to count instructions of."""
        raise OutOfReachError(_CALLGRIND)

    def _block_size(self, min_run_time: float) -> int:
        """Return how many runs hide what reading the clock costs; warm up with it."""
        with set_torch_threads(self._task_spec.num_threads):
            overhead = statistics.median(self._seconds(0) for _ in range(5))
            number = 1
            while number * 10 <= _MOST_RUNS:
                taken = self._seconds(number)
                hidden = overhead / taken <= 1e-4 and taken >= min_run_time / 1000
                if hidden or taken > min_run_time:
                    break
                number *= 10
        return number

    def _loop(
        self,
        number: int,
        min_run_time: float,
        max_run_time: float | None,
        callback: Callback | None,
        enough: Callable[[list[float]], bool],
    ) -> list[float]:
        times: list[float] = []
        total, done = 0.0, False
        with set_torch_threads(self._task_spec.num_threads):
            while total < min_run_time or not done:
                times.append(self._seconds(number))
                total += times[-1]
                if callback:
                    callback(number, times[-1])
                done = enough(times)
                if max_run_time and total > max_run_time:
                    break
        return times


# ---- what was measured, and how it is told -----------------------------------

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
