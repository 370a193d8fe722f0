"""One question about one thing of a run, and its answer."""

from __future__ import annotations

import re

from gradviz.answers import error, loss, module, parameter, tensor
from gradviz.answers.answer import Why
from gradviz.answers.run import Run
from gradviz.answers.subjects import Subject, named, subjects
from gradviz.errors import QuestionError
from gradviz.program import History

_SPELLED = {
    "requires_grad": "requires_grad requires require",
    "nan": "nan inf nans infs",
    "zero": "zero zeros 0",
    "unchanged": "unchanged change changed move moved update updated same",
    "large": "large huge big explode explodes exploding",
    "small": "small tiny vanish vanishes vanishing",
    "learns": "learns learn terms term teaches losses",
    "optimizer": "optimizer optimizers",
    "readers": "readers reads read reader uses used",
    "writes": "writes wrote write written writer",
    "shares": "shares share alias aliases copy memory",
    "alive": "alive keeps keep held holds hold freed leak",
    "reach": "reach reaches",
    "graph": "graph module",
    "operands": "operands operand error raise raised exception",
    "none": "none missing gradient grad no",
    "gradient": "gradient grad none",
    "made": "made comes from where",
}
"""By question, the words that ask it; a question that is a sentence is searched."""


def asked(question: str, possible: list[str]) -> str:
    """Return which question is meant, by its name or by a sentence.

    >>> asked("why does it not require grad?", ["none", "requires_grad"])
    'requires_grad'
    >>> asked("colour", ["none", "zero"])
    Traceback (most recent call last):
    ...
    gradviz.errors.QuestionError: `colour` is no question that can be asked here; \
ask `none` or `zero`
    """
    if question in possible:
        return question
    words = set(re.findall(r"[a-z_0-9]+", question.lower()))
    for name, spelled in _SPELLED.items():
        if name in possible and words & set(spelled.split()):
            return name
    *most, last = (f"`{each}`" for each in possible)
    choice = f"{', '.join(most)} or {last}" if most else last
    raise QuestionError(
        f"`{question}` is no question that can be asked here; ask {choice}"
    )


def why(run: Run, subject: Subject, question: str | None = None) -> Why:
    """Answer a question about a subject; None asks what its state asks first.

    Raises QuestionError for a question that cannot be asked of such a thing.
    """
    if subject.raised is not None:
        _check(question, error.QUESTIONS)
        return error.answer(run, subject.raised)
    if subject.module is not None:
        chosen = _check(question, module.QUESTIONS)
        return module.answer(run, subject.module, chosen)
    assert subject.tensor is not None
    if subject.kind == "parameter":
        return _of_leaf(run, subject.tensor, question)
    if subject.backward is not None:
        chosen = _check(question, [*loss.QUESTIONS, *tensor.QUESTIONS])
        if chosen in loss.QUESTIONS:
            return loss.answer(run, subject.tensor, subject.backward)
        return tensor.answer(run, subject.tensor, chosen)
    chosen = question or tensor.pressing(run, subject.tensor)
    chosen = asked(chosen, tensor.QUESTIONS)
    return tensor.answer(run, subject.tensor, chosen)


def _check(question: str | None, possible: list[str]) -> str:
    return possible[0] if question is None else asked(question, possible)


def _of_leaf(run: Run, key: int, question: str | None) -> Why:
    own = parameter.QUESTIONS
    others = [each for each in tensor.QUESTIONS if each not in own]
    others.remove("gradient")  # that of a leaf is "none"
    chosen = question or parameter.pressing(run, key)
    chosen = asked(chosen, [*own, *others])
    tell = parameter.answer if chosen in own else tensor.answer
    return tell(run, key, chosen)


def why_named(run: Run, name: str, question: str | None = None) -> Why:
    """Answer a question about what the program calls so.

    Raises QuestionError, with the names that come near, where nothing is called so.
    """
    known = run.history.once(_known)
    return why(run, known[named(known, name)], question)


def _known(history: History) -> dict[str, Subject]:
    return subjects(history)
