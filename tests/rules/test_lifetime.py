"""Rules about graphs, leaves and memory blame the right line, or nobody."""

from __future__ import annotations

from tests.rules import (
    programs_lifetime,
    programs_lifetime_leaves,
    programs_lifetime_loops,
    programs_lifetime_memory,
    programs_lifetime_refused,
)
from tests.rules.harness import Case, check, programs

_TABLES = (
    programs_lifetime,
    programs_lifetime_leaves,
    programs_lifetime_loops,
    programs_lifetime_memory,
    programs_lifetime_refused,
)
_CASES = [case for table in _TABLES for case in (*table.WRONG, *table.FINE)]


@programs(_CASES)
def test_lifetime(case: Case, engine: str) -> None:
    """The first finding names the marked line; fine programs get none."""
    check(case, engine)
