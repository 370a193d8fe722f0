"""A bounded number of answers into a snapshot, and out of one again.

The log of a run is not saved, so what a reader of the file may ask is answered when the
snapshot is made: for the exception, every loss, parameter and named module, each with
the question that its state asks first. Things whose answers are alike share one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gradviz import ir
from gradviz.answers.answer import Step, Why
from gradviz.answers.ask import asked, why
from gradviz.answers.run import Run
from gradviz.answers.subjects import Subject, named, subjects
from gradviz.diagnosis.attach import rows_of_nodes, with_places
from gradviz.errors import QuestionError
from gradviz.text.findings import place_of

MOST = 300  # different answers of one snapshot
MOST_BYTES = 200_000  # of their sentences
MOST_VISITED = 2_000_000  # vertices of the dependence graph, for all answers together

_DROPPED = (
    "Why questions are saved for {kept:,} of {all:,} things: the others would make the "
    "recording too large. `gradviz.why` answers all of them while the program runs."
)
_NONE = (
    "no answers are saved in this recording: record with this version of gradviz, and "
    "save when the recording is over"
)


def with_answers(snapshot: ir.Snapshot, run: Run) -> ir.Snapshot:
    """Return the snapshot with the answers about its run."""
    try:
        return _with_answers(snapshot, run)
    except Exception as error:  # the graph itself is what counts
        note = f"No answers were saved: {type(error).__name__}: {error}"
        return replace(snapshot, notes=(*snapshot.notes, note))


@dataclass(slots=True)
class _Kept:
    """One answer, with the names of all that it is about."""

    why: Why
    names: list[str]


def _with_answers(snapshot: ir.Snapshot, run: Run) -> ir.Snapshot:
    known = _worth_asking(run)
    kept: dict[object, _Kept] = {}
    told = nbytes = 0
    for name, subject in known:
        if len(kept) >= MOST or nbytes >= MOST_BYTES or run.visited >= MOST_VISITED:
            break
        told += 1
        found = why(run, subject)
        steps = found.steps
        if found.kind == "parameter" and found.question == "learns":
            steps = tuple(each for each in steps if each.kind != "pass")  # its norm
            found = replace(found, steps=steps)
        verdict = found.verdict.removeprefix(found.subject)
        key = found.kind, verdict, tuple(each.sentence for each in steps)
        if key not in kept:
            kept[key] = _Kept(found, [])
            nbytes += len(verdict) + sum(len(each.sentence) for each in steps)
        kept[key].names.append(name)
        nbytes += len(name)
    if told < len(known):
        note = _DROPPED.format(kept=told, all=len(known))
        snapshot = replace(snapshot, notes=(*snapshot.notes, note))
    return _written(snapshot, run, list(kept.values()))


def _worth_asking(run: Run) -> list[tuple[str, Subject]]:
    """Return errors, losses, parameters that learn nothing, the others, modules."""

    def order(row: tuple[str, Subject]) -> int:
        subject = row[1]
        kinds = {"error": 0, "loss": 1, "parameter": 2, "module": 4}
        taught = subject.kind == "parameter" and subject.tensor is not None
        taught = taught and bool(run.gradients(subject.tensor or 0).passes)
        return kinds[subject.kind] + taught

    known = subjects(run.history).items()
    return sorted((row for row in known if row[1].kind != "tensor"), key=order)


def _written(snapshot: ir.Snapshot, run: Run, kept: list[_Kept]) -> ir.Snapshot:
    steps = [(row, step) for row, each in enumerate(kept) for step in each.why.steps]
    sited = [step.site for _, step in steps if step.site is not None]
    snapshot, numbers = with_places(snapshot, sited, ())
    rows, nodes = iter(numbers), rows_of_nodes(snapshot, run.history.program)
    return replace(
        snapshot,
        answers=tuple(
            ir.Answer(
                tuple(each.names),
                each.why.kind,
                each.why.question,
                each.why.verdict,
                each.why.finding,
            )
            for each in kept
        ),
        answer_steps=tuple(
            ir.AnswerStep(
                row,
                step.kind,
                step.sentence,
                None if step.site is None else next(rows),
                None if step.node is None else nodes.get(step.node),
                step.decision,
            )
            for row, step in steps
        ),
    )


# ---- reading -------------------------------------------------------------------------


def saved_names(snapshot: ir.Snapshot) -> Iterator[tuple[str, ir.Answer]]:
    """Yield the names that a snapshot has an answer about, with the answer."""
    for answer in snapshot.answers:
        for name in answer.names:
            yield name, answer


def verdict_about(answer: ir.Answer, name: str) -> str:
    """Return the verdict of an answer that several things share, about one of them.

    >>> answer = ir.Answer(("w", "b"), "parameter", "none", "w has no gradient.")
    >>> verdict_about(answer, "b")
    'b has no gradient.'
    """
    first, verdict = answer.names[0], answer.verdict
    return name + verdict[len(first) :] if verdict.startswith(first) else verdict


def saved_why(snapshot: ir.Snapshot, name: str, question: str | None = None) -> Why:
    """Return the answer of a snapshot about what the program called so.

    Raises QuestionError, with the names that come near, where it has none.

    >>> answer = ir.Answer(("w", "b"), "parameter", "none", "w has no gradient.")
    >>> print(saved_why(ir.Snapshot("demo", answers=(answer,)), "b"))
    b has no gradient.
    """
    rows = {
        each: row
        for row, answer in enumerate(snapshot.answers)
        for each in answer.names
    }
    if not rows:
        raise QuestionError(_NONE)
    found = named(rows, name)
    answer = snapshot.answers[rows[found]]
    if question is not None:
        asked(question, [answer.question])
    steps = tuple(
        _read(snapshot, step)
        for step in snapshot.answer_steps
        if step.answer == rows[found]
    )
    verdict = verdict_about(answer, found)
    return Why(found, answer.kind, answer.question, verdict, steps, answer.finding)


def is_healthy(why: Why) -> bool:
    """Tell whether an answer is about a parameter or a module that is as it should be.

    >>> is_healthy(Why("w", "parameter", "learns", "w has a gradient."))
    True
    >>> is_healthy(Why("w", "parameter", "none", "w has no gradient."))
    False
    """
    if why.kind == "parameter":
        return why.question == "learns"
    return why.kind == "module" and why.decision is None and not why.finding


def _read(snapshot: ir.Snapshot, step: ir.AnswerStep) -> Step:
    site = None if step.site is None else snapshot.sites[step.site]
    place = "" if site is None else place_of(site, snapshot.sources)
    return Step(
        step.kind, step.sentence, site, place, node=step.node, decision=step.decision
    )
