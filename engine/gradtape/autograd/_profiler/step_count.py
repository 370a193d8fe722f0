"""The global step count, which profilers and optimizers advance together."""

from __future__ import annotations

import warnings
from collections import defaultdict
from typing import ClassVar


class KinetoStepTracker:
    """Counts steps by whoever announces them; the count is that of the furthest.

    >>> from gradtape.autograd.profiler import KinetoStepTracker
    >>> before = KinetoStepTracker.current_step()
    >>> KinetoStepTracker.increment_step("example") - before
    1
    """

    _current_step = 0
    _step_dict: ClassVar[defaultdict[str, int]] = defaultdict(int)

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Let a requester begin where the count is."""
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Forget a requester; tell whether it was known."""
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """Count one step of a requester; return the global count."""
        if requester not in cls._step_dict:
            cls.init_step_count(requester)
        cls._step_dict[requester] += 1
        furthest = max(cls._step_dict.values())
        if furthest - cls._current_step > 1:
            warnings.warn(
                "Profiler step count has increased more than 1 - current_step = "
                f"{cls._current_step} step dict =  {cls._step_dict}",
                stacklevel=2,
            )
        cls._current_step = max(cls._current_step, furthest)
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """Return the global count."""
        return cls._current_step
