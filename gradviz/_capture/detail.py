"""How closely a run is looked at: which of its steps in full, and which in brief.

In full, every value and every gradient is summarized, which costs many times what the
program itself does. A loop does the same over and over, so most of its steps are looked
at in brief: what was called, where, and whether a NaN or Inf came of it. A step begins
where the one before ended, with a backward pass.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Literal, get_args

from gradviz.program.values import RawSite
from gradviz.threads import thread_time

How = Literal["auto", "full"]

BUDGET = 1.05
"""How many times as long full detail may make a run, unless the user says otherwise."""

_FIRST = 2  # steps in full, whatever they cost
_AT_ONCE = 0.05  # seconds of full detail, before the budget counts
_AFTER_NOTICE = 2  # steps in full once something unusual was noticed
_MOST_COUNTS = 8  # of leaves that passes of a line reach, before others are no news
_MOST_LINES = 1_000  # that begin passes and are told apart
_MOST_ASIDE = 1_000  # events in full of a step in which no gradient is recorded


@dataclass(slots=True)
class Detail:
    """Decides after each step how the next one is looked at.

    Time is that of the recording thread, so that a program that waits gets no more
    detail for it.
    """

    how: How = "auto"
    budget: float = BUDGET
    full: bool = True
    steps: int = 0  # that ended
    steps_in_full: int = 0
    _due: int = _FIRST  # steps that are in full, whatever they cost
    _spent: float = 0.0  # seconds that were looked at in full
    _dear: float = 0.0  # seconds of the last step in full
    _began: float = field(default_factory=thread_time)
    _since: float | None = None  # when full detail began, while it is on
    _step_began: float = field(default_factory=thread_time)
    _aside: int = 0
    _reached: dict[tuple[int, int], set[int]] = field(
        default_factory=dict[tuple[int, int], set[int]]
    )  # by line of a pass: how many leaves it has reached
    _lowest: dict[tuple[int, int], float] = field(
        default_factory=dict[tuple[int, int], float]
    )  # by line of a pass: the least loss that was looked at closely

    def __post_init__(self) -> None:
        if self.how not in get_args(How):
            raise ValueError(f"detail is 'auto' or 'full', not {self.how!r}")
        if not self.budget >= 1:
            raise ValueError(f"a budget is at least 1 (no dearer), not {self.budget}")

    @property
    def is_sampled(self) -> bool:
        """Whether a step was looked at in brief."""
        return self.steps > self.steps_in_full

    def ended(self, in_full: bool) -> bool:
        """Note that a step ended; return whether the next one is looked at in full."""
        now = thread_time()
        self._settle(now)
        self.steps += 1
        if self.steps == 1:
            self._spent = 0.0  # the first one pays for what is made once
        self._aside = 0
        if in_full:
            self.steps_in_full += 1
            self._dear = now - self._step_began
        self._step_began = now
        if self.how == "full":
            return True
        self._due -= self._due > 0
        self.full = self._due > 0 or self._affords(1, now)
        return self.full

    def looks_in_full(self, full: bool) -> None:
        """Learn that full detail begins or ends, within a step as it may be."""
        now = thread_time()
        self._settle(now)
        self._since = now if full else None
        self._step_began = max(self._step_began, now) if full else self._step_began

    def _settle(self, now: float) -> None:
        if self._since is not None:
            self._spent += now - self._since
            self._since = now

    def affords_new(self) -> bool:
        """Tell whether a step that does what none before it did can be seen in full.

        It may take what would otherwise be saved for later.
        """
        return self._affords(2, thread_time())

    def _affords(self, times: int, now: float) -> bool:
        share = times * (self.budget - 1)
        allowed = _AT_ONCE + share * (now - self._began - self._spent)
        return self._spent + self._dear <= allowed

    def noticed(self) -> None:
        """Look at the rest of this step in full, and at some after it."""
        self.full, self._due = True, _AFTER_NOTICE + 1

    def reaches(self, site: RawSite | None, leaves: int) -> None:
        """Look closer where passes of a line reach more leaves, or fewer, than ever.

        A `detach()` in one branch of a loop shows itself so. A loop that does this
        all the time is no news for long.
        """
        line = _line(site)
        known = self._reached.get(line)
        if known is None:
            if len(self._reached) < _MOST_LINES:
                self._reached[line] = {leaves}
        elif leaves not in known and len(known) < _MOST_COUNTS:
            known.add(leaves)
            self.noticed()

    def falls(self, site: RawSite | None, loss: float | None) -> None:
        """Look closer where a loss falls below 0, and each time it is twice as low.

        What pulls it down shows only then. One that begins below 0 is meant to be.
        """
        line = _line(site)
        if loss is None or not isfinite(loss) or len(self._lowest) > _MOST_LINES:
            return
        lowest = self._lowest.setdefault(line, 0.0 if loss >= 0 else -inf)
        if loss < min(2 * lowest, -1e-6):
            self._lowest[line] = loss
            self.noticed()

    def passed_by(self) -> bool:
        """Note an event that no gradient concerns; return whether to go on in full.

        A program may run for long without a backward pass, as when it only plays.
        """
        self._aside += 1
        if self.how == "auto" and self._aside > _MOST_ASIDE:
            self.full = False
        return self.full

    def note(self) -> str | None:
        """Say what was looked at in brief, and by which schedule."""
        if not self.is_sampled:
            return None
        return (
            f"{self.steps_in_full:,} of {self.steps:,} passes were looked at in full: "
            f"the first {_FIRST}, after something new or unusual, and others within "
            f"{self.budget - 1:.0%} of the time. Of the rest, calls, lines, norms of "
            "leaves' gradients and where a NaN is born are known, no other values. "
            "`--detail full` looks at all."
        )


def _line(site: RawSite | None) -> tuple[int, int]:
    return (id(site[0]), site[1]) if site is not None else (0, 0)
