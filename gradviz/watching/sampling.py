"""At which steps to look, so that looking costs no more than was promised."""

from __future__ import annotations

from collections import deque
from statistics import median

GRANTED_NS = 50_000_000
"""Spent on the first steps whatever their share: they show most mistakes."""

_DENSE = 16  # looks at once, then as many in each doubling of the steps

_RARELY = 1 << 14  # steps between looks, at most
_LAST = 9  # measurements that count


class SamplingSchedule:
    """Chooses the steps to look at.

    The steps between looks are a power of two, so that processes which pace themselves
    still look at the same steps. With ``every`` they are what the user said.

    >>> schedule = SamplingSchedule(overhead=0.02)
    >>> for _ in range(9): schedule.stepped(1_000_000)
    >>> schedule.looked(60_000_000)
    >>> schedule.looked(150_000)
    >>> schedule.looked(150_000)
    >>> schedule.interval
    16
    >>> [number for number in range(40) if schedule.due(number)]
    [0, 16, 32]
    """

    def __init__(self, every: int | None = None, overhead: float = 0.03) -> None:
        self.interval = every or 1
        self._fixed = every is not None
        self._spent_ns = 0
        self._overhead = overhead
        self._steps: deque[int] = deque(maxlen=_LAST)
        self._looks: deque[int] = deque(maxlen=_LAST)
        self._glances: deque[int] = deque(maxlen=_LAST)
        self._glanced = 0
        self.sentinel = 1  # steps between looks at one small gradient

    def due(self, number: int) -> bool:
        """Tell whether to look at the step with this number."""
        return number % self._interval_at(number) == 0

    def _interval_at(self, number: int) -> int:
        if self._fixed or self._spent_ns >= GRANTED_NS:
            return self.interval
        return min(self.interval, _power_above(number / _DENSE))

    def next_due(self, number: int) -> int:
        """Return the first step from this one on to look at, as things are now."""
        while not self.due(number):
            interval = self._interval_at(number)
            number += interval - number % interval
        return number

    def stepped(self, elapsed_ns: int) -> None:
        """Learn how long a step took, what we did in it taken off."""
        self._steps.append(elapsed_ns)

    def looked(self, elapsed_ns: int) -> None:
        """Learn how long a look took, its parts together."""
        self._looks.append(elapsed_ns)
        self._spent_ns += elapsed_ns
        if not self._fixed and self._steps:
            self.interval = self._steps_for(self._looks, 0.5)

    def glanced(self, elapsed_ns: int) -> None:
        """Learn how long the look at one small gradient took."""
        self._glances.append(elapsed_ns)
        self._glanced += 1
        # Now and then, for a median costs as much as a glance.
        if self._glanced % _LAST == 0 and not self._fixed and self._steps:
            self.sentinel = self._steps_for(self._glances, 0.25)

    def _steps_for(self, costs: deque[int], part: float) -> int:
        """Return the steps over which such a cost is this part of what was promised.

        The last quarter is for the calls that every step makes.
        """
        share = median(costs) / max(median(self._steps), 1)
        return _power_above(share / (self._overhead * part))


def _power_above(number: float) -> int:
    power = 1
    while power < number and power < _RARELY:
        power *= 2
    return power
