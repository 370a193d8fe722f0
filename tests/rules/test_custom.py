"""Custom Functions, gradient checks, checkpoints and hooks: wrong ones have a line."""

from __future__ import annotations

from tests.rules import programs_custom as functions
from tests.rules import programs_custom_checks as checks
from tests.rules import programs_custom_hooks as hooks
from tests.rules import programs_custom_inputs as inputs
from tests.rules.harness import Case, check, programs


@programs(functions.WRONG + functions.FINE)
def test_functions(case: Case, engine: str) -> None:
    check(case, engine)


@programs(checks.WRONG + checks.FINE)
def test_checks(case: Case, engine: str) -> None:
    check(case, engine)


@programs(hooks.WRONG + hooks.FINE)
def test_hooks(case: Case, engine: str) -> None:
    check(case, engine)


@programs(inputs.WRONG + inputs.FINE)
def test_inputs(case: Case, engine: str) -> None:
    check(case, engine)
