"""At which steps to look, so that looking costs no more than was promised."""

from __future__ import annotations

from collections import deque
from statistics import median

GRANTED_NS = 50_000_000
"""Spent on the first steps whatever their share: they show most mistakes."""

_DENSE = 16  # looks at once, then as many in each doubling of the steps

_RARELY = 1 << 14  # steps between looks, at most
_LAST = 9  # measurements that count


class Pace:
    """Chooses the steps to look at.

    The steps between looks are a power of two, so that processes which pace themselves
    still look at the same steps. With ``every`` they are what the user said.

    >>> pace = Pace(overhead=0.02)
    >>> for _ in range(9): pace.stepped(1_000_000)
    >>> pace.looked(60_000_000)
    >>> pace.looked(150_000)
    >>> pace.looked(150_000)
    >>> pace.interval
    16
    >>> [number for number in range(40) if pace.due(number)]
    [0, 16, 32]
    """

    def __init__(self, every: int | None = None, overhead: float = 0.03) -> None:
        self.interval = every or 1
        self._fixed = every is not None
        self._spent_ns = 0
        self._overhead = overhead
        self._steps: deque[int] = deque(maxlen=_LAST)
        self._looks: deque[int] = deque(maxlen=_LAST)
        self._sentinels: deque[int] = deque(maxlen=_LAST)
        self.sentinel = 1  # steps between looks at one small gradient

    def due(self, number: int) -> bool:
        """Tell whether to look at the step with this number."""
        interval = self.interval
        if not self._fixed and self._spent_ns < GRANTED_NS:
            interval = min(interval, _power_above(number / _DENSE))
        return number % interval == 0

    def stepped(self, elapsed_ns: int) -> None:
        """Learn how long a step took, what we did in it taken off."""
        self._steps.append(elapsed_ns)
        if self._sentinels and not self._fixed:
            share = median(self._sentinels) / max(median(self._steps), 1)
            self.sentinel = _power_above(share / (self._overhead / 2))

    def looked(self, elapsed_ns: int) -> None:
        """Learn how long a look took, its parts together."""
        self._looks.append(elapsed_ns)
        self._spent_ns += elapsed_ns
        if self._fixed or not self._steps:
            return
        share = median(self._looks) / max(median(self._steps), 1)
        self.interval = _power_above(share / (self._overhead / 2))

    def glanced(self, elapsed_ns: int) -> None:
        """Learn how long the look at one small gradient took."""
        self._sentinels.append(elapsed_ns)


def _power_above(number: float) -> int:
    power = 1
    while power < number and power < _RARELY:
        power *= 2
    return power
