"""Every program of the tables: the first finding names the marked line, or nobody."""

from __future__ import annotations

from gradviz._capture.open_log import Engine
from tests.rules.edits import SECOND_FAULTS
from tests.rules.harness import Case, programs
from tests.rules.judge import check
from tests.rules.tables import FAMILIES, FILES, cases_in, cases_of


@programs(cases_of("cuts"))
def test_cuts(case: Case, engine: Engine) -> None:
    """The call that cuts a graph is named, and what is meant stays quiet."""
    check(case, engine)


@programs(cases_of("custom"))
def test_custom(case: Case, engine: Engine) -> None:
    """Custom Functions, gradient checks, checkpoints and hooks."""
    check(case, engine)


@programs(cases_of("decisions"))
def test_decisions(case: Case, engine: Engine) -> None:
    """Choices far from what came of them: tables, defaults, callers, orders."""
    check(case, engine)


@programs(cases_of("flow"))
def test_flow(case: Case, engine: Engine) -> None:
    """Gradients that vanish, explode, die, or have no effect."""
    check(case, engine)


@programs(cases_of("inplace"))
def test_inplace(case: Case, engine: Engine) -> None:
    """Writes to what a graph had saved, to leaves, views and shared memory."""
    check(case, engine)


@programs(cases_of("lifetime"))
def test_lifetime(case: Case, engine: Engine) -> None:
    """Graphs walked twice or kept, leaves, memory."""
    check(case, engine)


@programs(cases_of("models"))
def test_models(case: Case, engine: Engine) -> None:
    """Losses, layers and modes that do not fit."""
    check(case, engine)


@programs(cases_of("numerics"))
def test_numerics(case: Case, engine: Engine) -> None:
    """NaN, Inf and lost precision: the line where they are born."""
    check(case, engine)


@programs(cases_of("optimizers"))
def test_optimizers(case: Case, engine: Engine) -> None:
    """Optimizers, schedulers and scalers: what is out of step."""
    check(case, engine)


@programs(cases_of("whole"))
def test_whole(case: Case, engine: Engine) -> None:
    """Correct scripts and trainers: nothing is to be said about them."""
    check(case, engine)


def test_no_family_is_left_out() -> None:
    assert {f"test_{family}" for family in FAMILIES} <= globals().keys()


def test_the_second_faults_are_of_programs() -> None:
    known = {each.name for file in FILES for each in cases_in(file)}
    assert known >= SECOND_FAULTS.keys()
