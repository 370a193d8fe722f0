"""What can be mended in a second line has a remark there, after all that is graver."""

from __future__ import annotations

from gradviz._capture.open_log import Engine
from tests.rules.harness import Case, programs
from tests.rules.judge import check
from tests.rules.tables import FAMILIES, cases_of

TWO_PLACES = [each for family in FAMILIES for each in cases_of(family, "TWO_PLACES")]


@programs(TWO_PLACES)
def test_the_second_line_is_a_remark(case: Case, engine: Engine) -> None:
    diagnosis = check(case, engine)
    (second,) = [
        number
        for number, line in enumerate(case.source.splitlines(), 1)
        if "# INSTEAD" in line
    ]
    remarks = [
        (diagnosis.sites[each.culprit].line, each.slug)
        for each in diagnosis.findings[1:]
        if each.culprit is not None and "can be changed instead of" in each.message
    ]
    assert remarks == [(second, case.slug)]
    assert diagnosis.findings[-1].severity == "info"
    assert diagnosis.findings[-1].fix
    assert diagnosis.causes == len(diagnosis.findings) - 1
