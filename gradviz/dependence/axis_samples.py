"""Which calls put samples side by side: those that a loader makes in its loop."""

from __future__ import annotations

from types import CodeType

from gradviz.program import Call, History, RawSite

_OF_ONE = ("__getitem__", "__getitems__", "__iter__", "__next__")  # of a dataset


class Loaders:
    """The loops over loaders of a run, by their lines.

    A loop asks for its iterator and for each batch in one statement; whatever is called
    there, or behind a call of a ``collate_fn`` there, is called by the loader.
    """

    def __init__(self, history: History) -> None:
        self._places = history.places
        loops = [each.site for each in history.calls if each.op == "DataLoader"]
        self._lines = {self._line(site) for site in loops if site is not None}
        self._known: dict[RawSite, bool] = {}

    def ran(self, call: Call) -> bool:
        """Tell whether a loader ran a call, but for those that make a single sample."""
        if not self._lines or call.site is None:
            return False
        for each in call.frames:
            if self._is_loop(each):
                return True
            if each[0].co_name in _OF_ONE:
                return False
        return False

    def _is_loop(self, site: RawSite) -> bool:
        known = self._known.get(site)
        if known is None:
            known = self._known[site] = self._line(site) in self._lines
        return known

    def _line(self, site: RawSite) -> tuple[CodeType, int]:
        return site[0], self._places.line(site)
