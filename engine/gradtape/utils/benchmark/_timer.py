"""Python's ``timeit``, with warm-up, a choice of the number of runs, and statistics."""

from __future__ import annotations

import enum
import statistics
import textwrap
import timeit
from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..._common.refusals import OutOfReachError
from ._measurement import Measurement, TaskSpec, set_torch_threads

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
