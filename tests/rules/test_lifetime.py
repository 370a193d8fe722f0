"""Rules about graphs, leaves and memory blame the right line, or nobody."""

from __future__ import annotations

from tests.rules import (
    programs_lifetime,
    programs_lifetime_fine,
    programs_lifetime_kept,
    programs_lifetime_leaves,
    programs_lifetime_loops,
    programs_lifetime_memory,
    programs_lifetime_more,
    programs_lifetime_refused,
    programs_lifetime_tensors,
)
from tests.rules.harness import Case, check, programs

_WRONG = [
    *programs_lifetime.WRONG,
    *programs_lifetime_kept.WRONG,
    *programs_lifetime_leaves.WRONG,
    *programs_lifetime_loops.WRONG,
    *programs_lifetime_memory.WRONG,
    *programs_lifetime_more.WRONG,
    *programs_lifetime_refused.WRONG,
    *programs_lifetime_tensors.WRONG,
]
_FINE = [
    *programs_lifetime.FINE,
    *programs_lifetime_fine.FINE,
    *programs_lifetime_kept.FINE,
    *programs_lifetime_leaves.FINE,
    *programs_lifetime_loops.FINE,
    *programs_lifetime_memory.FINE,
    *programs_lifetime_refused.FINE,
]


@programs(_WRONG + _FINE)
def test_lifetime(case: Case, engine: str) -> None:
    """The first finding names the marked line; fine programs get none."""
    check(case, engine)
