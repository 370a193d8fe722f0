"""What the options and the markers of a test ask for."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from gradviz import ir
from gradviz.errors import GradvizError
from gradviz.reporting.failing import FAIL_ON, FailOn, failing

_UNKNOWN = "{test}: the marker gradviz takes fail_on=… and ignore=[…], not {what}."
_FAIL_ON = "{test}: fail_on is one of {choices}, not {what!r}."
_CODES = "{test}: ignore is a list of codes as 'GV306', not {what!r}."


@dataclass(frozen=True, slots=True)
class Wishes:
    """Which findings of one test are told, and which fail it."""

    fail_on: FailOn
    ignored: frozenset[str] = field(default_factory=frozenset[str])  # codes

    def told(self, findings: tuple[ir.Finding, ...]) -> list[int]:
        """Return the rows of the findings that are told."""
        rows = enumerate(findings)
        return [row for row, each in rows if each.code not in self.ignored]

    def failing(self, findings: tuple[ir.Finding, ...]) -> list[ir.Finding]:
        """Return the findings that fail the test."""
        return failing(findings, self.fail_on)


def wishes_of(item: pytest.Item, fail_on: FailOn) -> Wishes:
    """Return what is asked for a test: of ``fail_on`` the nearest marker decides.

    What the markers of a test, its class and its module ignore adds up. Raises
    UsageError for a marker that asks for something else.
    """
    ignored: set[str] = set()
    chosen: FailOn | None = None
    for marker in item.iter_markers("gradviz"):
        strange = {*marker.kwargs} - {"fail_on", "ignore"}
        if marker.args or strange:
            what = ", ".join([*map(repr, marker.args), *sorted(strange)])
            raise pytest.UsageError(_UNKNOWN.format(test=item.nodeid, what=what))
        asked = marker.kwargs.get("fail_on")
        if asked not in (None, *FAIL_ON):
            choices = ", ".join(FAIL_ON)
            sentence = _FAIL_ON.format(test=item.nodeid, choices=choices, what=asked)
            raise pytest.UsageError(sentence)
        chosen = chosen or asked
        ignored |= _codes(item, marker.kwargs.get("ignore", ()))
    return Wishes(chosen or fail_on, frozenset(ignored))


def _codes(item: pytest.Item, names: object) -> set[str]:
    from gradviz.diagnosis.manual import find_rule

    if not isinstance(names, list | tuple | set | frozenset):
        raise pytest.UsageError(_CODES.format(test=item.nodeid, what=names))
    try:
        return {find_rule(str(name)).code for name in names}
    except GradvizError as error:
        raise pytest.UsageError(f"{item.nodeid}: {error}") from None
