"""GV111-GV124: refused writes, shared memory, layouts and hooks."""

from __future__ import annotations

from tests.rules.harness import Case, check, programs
from tests.rules.programs_inplace_hooks import HOOKS
from tests.rules.programs_inplace_layouts import EXPANDED, LAYOUTS
from tests.rules.programs_inplace_views import LEAVES, VIEWS


@programs(LEAVES)
def test_a_write_to_a_leaf_is_explained(case: Case, engine: str) -> None:
    check(case, engine)


@programs(VIEWS)
def test_a_refused_write_to_a_view_is_explained(case: Case, engine: str) -> None:
    check(case, engine)


@programs(EXPANDED)
def test_a_write_to_shared_elements_is_named(case: Case, engine: str) -> None:
    check(case, engine)


@programs(LAYOUTS)
def test_a_view_that_cannot_be_and_a_lost_write_are_named(
    case: Case, engine: str
) -> None:
    check(case, engine)


@programs(HOOKS)
def test_a_hook_that_writes_or_comes_too_early_is_named(
    case: Case, engine: str
) -> None:
    check(case, engine)
