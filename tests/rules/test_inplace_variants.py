"""GV101-GV124 once more: other spellings of the same mistakes."""

from __future__ import annotations

from tests.rules.harness import Case, check, programs
from tests.rules.programs_inplace_harder import HARDER
from tests.rules.programs_inplace_variants import SAVED
from tests.rules.programs_inplace_variants_views import VIEWS


@programs(SAVED + VIEWS + HARDER)
def test_another_spelling_is_named(case: Case, engine: str) -> None:
    check(case, engine)
