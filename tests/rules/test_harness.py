"""The harness itself: it fails on a wrong line, a wrong slug and a false alarm."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from gradviz._capture.open_log import Engine
from gradviz.diagnosis import diagnose as runner
from gradviz.diagnosis.rule import Hit, Rule
from gradviz.program.events import Call
from gradviz.program.history import History
from tests.rules import harness, untouched
from tests.rules.harness import ENGINES, case
from tests.rules.judge import check
from tests.rules.tables import named

_SOURCE = """
import torch

x = torch.ones(2)
y = x.exp()  # CULPRIT
"""


def _blame_exp(history: History) -> list[Hit]:
    calls = [call for call in history.calls if call.op == "exp"]
    return [Hit("exp was called.", call.site, "Do not.") for call in calls]


@pytest.fixture(autouse=True)
def _only_one_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = Rule("GV001", "no-exp", "error", _blame_exp)
    monkeypatch.setattr(runner, "all_rules", lambda: (rule,))


@pytest.mark.parametrize("engine", ENGINES)
def test_the_marked_line_passes(engine: Engine) -> None:
    check(case("exp", _SOURCE, "no-exp", says=["exp was"]), engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "wrong",
    [
        case("other_slug", _SOURCE, "no-sin"),
        case("other_words", _SOURCE, "no-exp", says=["sin was"]),
        case("other_role", _SOURCE, "no-exp", related=["saved here"]),
        case("false_alarm", _SOURCE.replace("# CULPRIT", "")),
        case("moved", "import torch  # CULPRIT\ntorch.ones(2).exp()", "no-exp"),
    ],
    ids=lambda wrong: wrong.name,
)
def test_anything_else_fails(wrong: harness.Case, engine: Engine) -> None:
    with pytest.raises(AssertionError):
        check(wrong, engine)


def test_a_slug_needs_a_mark() -> None:
    with pytest.raises(ValueError, match="go together"):
        case("unmarked", "import torch", "no-exp")


@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_program_raises_is_no_failure(engine: Engine) -> None:
    source = "import torch\nx = torch.ones(2).exp()  # CULPRIT\nraise ValueError('no')"
    program = harness.run(case("raising", source, "no-exp"), engine)
    assert any(isinstance(event, Call) for event in program.events)


def test_what_a_program_leaves_is_compared() -> None:
    program = named("two_sums_of_one_square")
    left = untouched.left_by(program, nullcontext())
    assert left.values["w.grad"] is not None
    assert {"w", "h", "loss_a"} <= left.alive | left.values.keys()
    other = untouched.left_by(program, nullcontext())
    assert untouched.differences(left, other) == []
    other.values["w.grad"] += 1
    other.alive.add("h.grad_fn")
    wrong = ["w.grad differs", "h.grad_fn stayed alive"]
    assert untouched.differences(left, other) == wrong
