"""A watch as the source of a live view: what a page below a running cell follows."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

from gradviz import ir

if TYPE_CHECKING:
    from gradviz.live import Delta


class WatchSource:
    """Says when there is a new look, and what the history is then.

    The view has a thread of its own; it does not keep the watch alive.
    """

    def __init__(
        self, looks: Callable[[], int], snapshot: Callable[[], ir.Snapshot]
    ) -> None:
        self._looks = weakref.WeakMethod(looks)
        self._snapshot = weakref.WeakMethod(snapshot)
        self._last = ir.Snapshot("gradviz")

    def version(self) -> int:
        """Return how many looks there were; the view pauses where nothing is new."""
        looks = self._looks()
        return 0 if looks is None else looks()

    def full(self) -> ir.Snapshot:
        """Return the history so far."""
        snapshot = self._snapshot()
        if snapshot is not None:
            self._last = snapshot()
        return self._last

    def delta(self) -> Delta | None:
        """Return None: a history is sent as a whole, and seldom."""
        return None
