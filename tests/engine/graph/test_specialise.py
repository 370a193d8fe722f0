"""Templates made for one op: the same results, no questions left, the same lines."""

from __future__ import annotations

import dis
import traceback
from typing import Any

import pytest

from gradtape._dispatch.specialise import specialised
from gradtape._dispatch.templates import GIVEN

doubles: bool = GIVEN
limit: int = GIVEN
parts: tuple[tuple[Any, int, tuple[int, ...]], ...] = GIVEN


def template(values: list[float]) -> tuple[float, ...]:
    """Call every part on the values it picks."""
    if limit > 2 and not (doubles and len(values) > 1):
        values = [*values, 0.0]
    if any(len(values) > at for _, _, picks in parts for at in picks):
        values = [2 * value if doubles else value for value in values]
    return tuple(
        [
            function(*[values[at] for at in picks]) if picks else float(number)
            for function, number, picks in parts
        ]
    )


def failing(values: list[float]) -> float:
    """Fail in a line that a test can name."""
    if doubles:
        values = [*values, *values]
    return values[limit]  # here


def add(a: float, b: float) -> float:
    return a + b


PARTS = ((add, 1, (0, 1)), (abs, 2, (1,)), (None, 3, ()))


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("most", [1, 3])
def test_a_specialised_template_gives_what_the_template_gives(
    twice: bool, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = {"doubles": twice, "limit": most, "parts": PARTS}
    made = specialised(template, "made", facts)
    for name, fact in facts.items():
        monkeypatch.setitem(globals(), name, fact)
    for values in ([1.0, -2.0], [0.5, 3.0, 1.0]):
        assert made(values) == made(values) == template(values)


def test_nothing_is_asked_that_is_known() -> None:
    facts = {"doubles": False, "limit": 1, "parts": ((add, 1, (0, 1)), (None, 3, ()))}
    made = specialised(template, "made", facts)
    assert made([1.0, 2.0]) == (3.0, 3.0)
    asked = {step.argval for step in dis.get_instructions(made)}
    assert "limit" not in asked
    assert "doubles" not in asked
    assert made.__name__ == made.__code__.co_name == "made"


def test_copies_with_other_functions_share_their_code() -> None:
    known = {"doubles": False, "limit": 0}
    first = specialised(template, "made", {"parts": ((add, 1, (0, 1)),), **known})
    second = specialised(template, "made", {"parts": ((max, 1, (0, 1)),), **known})
    assert first([2.0, 3.0]) == (5.0,)
    assert second([2.0, 3.0]) == (3.0,)
    assert first.__code__.co_code == second.__code__.co_code


def test_an_error_shows_the_line_of_the_template() -> None:
    made = specialised(failing, "made", {"doubles": False, "limit": 5})
    for _ in range(2):
        with pytest.raises(IndexError) as caught:
            made([1.0])
        last = traceback.extract_tb(caught.tb)[-1]
        assert last.filename == __file__
        assert last.line == "return values[limit]  # here"


def test_without_its_source_a_template_still_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gradtape._dispatch.specialise._functions", lambda file: {})
    facts = {"doubles": True, "limit": 3}
    assert specialised(failing, "made", facts)([1.0, 2.0]) == 2.0
