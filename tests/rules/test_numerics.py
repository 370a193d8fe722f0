"""NaN, Inf and lost precision: the line where they are born is blamed, or nobody."""

from __future__ import annotations

from tests.rules import programs_numerics as forward
from tests.rules import programs_numerics_backward as backward
from tests.rules import programs_numerics_data as data
from tests.rules import programs_numerics_flow as flow
from tests.rules import programs_numerics_flow_fine as deep
from tests.rules.harness import Case, check, programs


@programs(forward.WRONG)
def test_forward(case: Case, engine: str) -> None:
    check(case, engine)


@programs(data.WRONG + data.FINE)
def test_data_and_precision(case: Case, engine: str) -> None:
    check(case, engine)


@programs(backward.WRONG + backward.FINE)
def test_backward(case: Case, engine: str) -> None:
    check(case, engine)


@programs(flow.WRONG + deep.FINE)
def test_gradient_flow(case: Case, engine: str) -> None:
    check(case, engine)
