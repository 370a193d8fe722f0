"""Tells when a step grows too large for every call of it to be noted."""

from __future__ import annotations

from array import array
from typing import Any

MOST_NOTED = 20_000
"""Calls of one step that made nodes and are noted in full; as many again that write."""

_COUNTED = (
    "A step called more than {most:,} operations that gradients pass through. The "
    "first {most:,} were noted in full; those after them were only counted: their "
    "values, arguments and gradients were not looked at, so what goes wrong there may "
    "not be found. Backward passes, leaves' gradients and errors were noted as always."
)


class LinesOf:
    """The lines that made nodes, by numbers that grow: a few bytes for each.

    >>> lines = LinesOf()
    >>> lines.begins(7, ("code", 2))
    >>> lines.begins(9, ("code", 4))
    >>> lines.settle(10)
    >>> lines.at(6), lines.at(8), lines.at(9)
    (None, ('code', 2), ('code', 4))
    """

    def __init__(self) -> None:
        self._first: int | None = None
        self._places = array("I")
        self._numbers: dict[Any, int] = {}
        self._lines: list[Any] = []
        self._now = 0  # the line that runs

    def begins(self, number: int, line: Any) -> None:
        """Learn that a line makes the nodes from this number on."""
        if self._first is None:
            self._first = number
        self.settle(number)
        known = self._numbers.get(line)
        if known is None:
            known = self._numbers[line] = len(self._lines)
            self._lines.append(line)
        self._now = known

    def settle(self, end: int) -> None:
        """Learn that the line that runs made all nodes before this number."""
        count = 0 if self._first is None else end - self._first - len(self._places)
        if count > 0:
            self._places.extend([self._now] * count)

    def at(self, number: int) -> Any:
        """Return the line that made a node; None where that is not known."""
        place = -1 if self._first is None else number - self._first
        if not 0 <= place < len(self._places):
            return None
        return self._lines[self._places[place]]


class StepSize:
    """How many calls made nodes since the last backward pass.

    >>> notes = []
    >>> size = StepSize(notes)
    >>> size.grew(MOST_NOTED); size.counting
    False
    >>> size.grew(MOST_NOTED + 1); size.counting, size.writes_too, len(notes)
    (True, False, 1)
    >>> size.passed(MOST_NOTED + 1); size.counting
    False
    """

    def __init__(self, notes: list[str]) -> None:
        self.most = MOST_NOTED
        self.counting = False  # calls that make nodes are counted, no more
        self.counted = 0  # so many
        self.began = 0  # calls before the step
        self.latest: Any = None  # reference to the last result that was only counted
        self.lines = LinesOf()  # of nodes whose calls were only counted
        self.unwalked: tuple[int, ...] = ()  # nodes of a graph that no pass has walked
        self._notes = notes

    @property
    def writes_too(self) -> bool:
        """Whether calls that write are only counted, too."""
        return self.counted > self.most

    def fits(self, events: int) -> None:
        """Note less of a step, so that it does not fill a log of so many events."""
        self.most = min(self.most, events * 3 // 4)

    def grew(self, calls: int) -> None:
        """Learn how many calls made nodes so far, or how many nodes there are."""
        if not self.counting and calls - self.began > self.most:
            self.counting = True
            note = _COUNTED.format(most=self.most)
            if note not in self._notes:
                self._notes.append(note)

    def forgot(self, calls: int) -> None:
        """Learn that so many calls, the oldest, are no longer among them."""
        self.began = max(0, self.began - calls)

    def passed(self, calls: int) -> None:
        """Begin anew: a backward pass is over."""
        self.began, self.counting, self.counted = calls, False, 0
        self.latest, self.lines, self.unwalked = None, LinesOf(), ()
