"""Answers about five programs, checked against the chains that the programs mark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gradviz.why.asked_programs import Asked, asked
from tests.rules.harness import ENGINES

# Per program: what is asked, with which question, what the verdict says, and the chain.
_LEARNS = ("loss backward", "pass backward", "write step")
CHAINS: dict[str, list[tuple[str, str | None, str, tuple[str, ...]]]] = {
    "gan": [
        ("generator.style.weight", None, "no gradient", ("use style", "gate cut!")),
        ("generator.spare.bias", None, "no gradient", ("use spare!",)),
        ("generator.spare", None, "never called", ("use spare!",)),
        ("average.body.weight", None, "no gradient", ("write follow",)),
        (
            "discriminator.score.bias",
            "unchanged",
            "did not change",
            ("step optimizer_d!",),
        ),
        (
            "discriminator.score.weight",
            "optimizer",
            "held by 1 optimizer",
            ("step optimizer_d",),
        ),
        (
            "discriminator.body.weight",
            "which losses does it learn from?",
            "6 of 6 backward passes",
            (
                "loss backward_d",
                "term real",
                "term fake",
                "loss backward_g",
                "pass backward_g",
                "write step_d",
            ),
        ),
        ("fixed", None, "does not require grad", ("made out", "gate fixed!")),
        ("fixed", "shares", "shares its memory", ("share out",)),
        (
            "loss_d",
            None,
            "teaches 4 of 20",
            (
                "pass backward_d",
                "term real",
                "term fake",
                "gate fixed!",
                "gate cut",
            ),
        ),
        ("loss_g", None, "teaches 8 of 20", ("pass backward_g", "gate cut!")),
        (
            "winners",
            "requires_grad",
            "does not require",
            ("made score", "gate winners!"),
        ),
    ],
    "vqvae": [
        (
            "codebook.codes",
            None,
            "no gradient",
            ("use chosen", "gate nearest", "gate through", "gate commit!"),
        ),
        (
            "codebook",
            None,
            "does not learn",
            ("use chosen", "gate nearest", "gate through", "gate commit!"),
        ),
        ("volume", None, "gradient of zeros", ("gate round!",)),
        (
            "encoder.first.weight",
            None,
            "has a gradient",
            (_LEARNS[0], "term commit", "term error", *_LEARNS[1:]),
        ),
        (
            "loss",
            None,
            "teaches 9 of 10",
            ("pass backward", "term commit", "term error", "gate commit!"),
        ),
        ("mask", "who wrote it?", "written 1 time", ("write zero",)),
        ("mask", "shares", "1 other tensor", ("share corner",)),
        (
            "index",
            "requires_grad",
            "does not require",
            ("made distances", "gate nearest!"),
        ),
        ("encoder", None, "learns: backward passes reach", ("loss backward",)),
    ],
    "language_model": [
        (
            "positions",
            None,
            "no gradient",
            ("use positions", "gate no_grad!", "gate kept"),
        ),
        ("temperature", None, "no gradient", ("use item", "gate item!")),
        ("embedding.weight", None, "4 of 4 backward passes", _LEARNS),
        (
            "loss",
            "reach",
            "teaches 9 of 11",
            ("pass backward", "gate no_grad!", "gate item"),
        ),
        ("memory", "writes", "written 4 times", ("write copy",) * 4),
        ("logits", "gradient", "is no leaf", ("made scaled",)),
        (
            "model",
            None,
            "learns in part",
            ("use positions", "gate no_grad!", "gate kept"),
        ),
        (
            "temperature",
            "unchanged",
            "did not change",
            ("step optimizer", "use item", "gate item!"),
        ),
    ],
    "actor_critic": [
        ("actor.width", None, "no gradient", ("use normal", "gate no_grad!")),
        ("bonus.amount", None, "no gradient", ("use numpy", "gate numpy!")),
        ("bonus.amount", "unchanged", "did not change", ("step optimizer_b!",)),
        ("critic.scale", "unchanged", "did not change", ("step optimizer_c!",)),
        (
            "advantage",
            None,
            "does not require grad",
            ("made advantage", "gate advantage!"),
        ),
        ("returns", None, "does not require grad", ("gate numpy!",)),
        (
            "actor.mean.weight",
            "learns",
            "3 of 6 backward passes",
            ("loss backward_a", "pass backward_a", "write step_a"),
        ),
        ("critic", None, "learns: backward passes reach", ("loss backward_c",)),
    ],
    "finetune": [
        ("backbone.first.weight", None, "no gradient", ("state freeze!",)),
        ("backbone", None, "does not learn", ("state freeze!",)),
        (
            "head.gate.weight",
            None,
            "gradient of zeros",
            ("gate closed", "finding gives!"),
        ),
        ("head.pick.weight", None, "has a gradient", _LEARNS),
        (
            "temperature",
            None,
            "has Inf in its gradient",
            ("made penalty!", "loss backward_penalty"),
        ),
        (
            "error",
            None,
            "mat1 and mat2",
            (
                "operand wide",
                "made late",
                "operand width",
                "operand width",
                "finding width!",
            ),
        ),
        ("penalty", None, "teaches 1 of 7", ("pass backward_penalty",)),
        ("wide", "made", "float32 (8, 7)", ("made wide", "read use")),
        ("late", "alive", "is kept alive", ()),
        ("x", "readers", "was read", ("read use",)),
    ],
}
ROWS = [
    pytest.param((name, engine), row, id=f"{name}-{engine}-{row[0]}-{row[1]}")
    for name, rows in CHAINS.items()
    for engine in ENGINES
    for row in rows
]


@pytest.fixture(scope="module")
def program(request: pytest.FixtureRequest) -> Iterator[Asked]:
    name, engine = request.param
    with asked(name, engine) as ran:
        yield ran


@pytest.mark.parametrize(("program", "row"), ROWS, indirect=["program"])
def test_a_chain_is_the_one_that_the_program_marks(program, row):
    name, question, verdict, chain = row
    why = program.recorder.why(name, question)
    assert verdict in why.verdict
    assert tuple(program.chain(why)) == chain, str(why)


def test_ten_kinds_of_question_are_asked():
    from gradviz.answers.ask import _SPELLED
    from gradviz.answers.ask import asked as question_of

    possible = list(_SPELLED)
    kinds = {
        question_of(question, possible)
        for rows in CHAINS.values()
        for _, question, *_ in rows
        if question is not None
    }
    assert len(kinds) >= 10, kinds
