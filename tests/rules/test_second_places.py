"""What could be mended in a second line is named with the first: one cause."""

from __future__ import annotations

from gradviz._capture.open_log import Engine
from tests.rules.harness import Case, programs
from tests.rules.judge import check
from tests.rules.tables import FAMILIES, cases_of

TWO_PLACES = [each for family in FAMILIES for each in cases_of(family, "TWO_PLACES")]


@programs(TWO_PLACES)
def test_the_second_line_stands_beside_the_first(case: Case, engine: Engine) -> None:
    diagnosis = check(case, engine)
    (second,) = [
        number
        for number, line in enumerate(case.source.splitlines(), 1)
        if "# INSTEAD" in line
    ]
    first = diagnosis.findings[0]
    assert first.slug == case.slug
    assert second in [diagnosis.sites[row].line for row in first.related]
    assert diagnosis.causes == len(diagnosis.findings)
