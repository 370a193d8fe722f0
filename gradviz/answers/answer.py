"""An answer: a verdict, and the chain of causes behind it, each with its line."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any, Literal

from gradviz import ir

SubjectKind = Literal["parameter", "tensor", "module", "loss", "error"]

StepKind = Literal[
    "use",  # where the thing was taken in
    "gate",  # where influence goes on and the gradient does not
    "path",  # how it goes on from there
    "loss",  # what it was all for
    "term",  # one summand of it
    "made",
    "write",
    "read",
    "share",  # another tensor in the same memory
    "hold",  # what keeps it alive
    "pass",  # a backward pass
    "step",  # an optimizer
    "state",  # a fact of the thing itself
    "operand",  # what a call that failed was given
    "finding",  # what a rule says about the same thing
]


@dataclass(frozen=True, slots=True)
class Step:
    """One link of the chain. Numbers are those of the program log."""

    kind: str  # a StepKind, likewise
    sentence: str
    site: ir.Site | None = None
    place: str = ""  # "train.py:10", or the notebook's name of the cell
    event: int | None = None
    tensor: int | None = None
    node: int | None = None
    decision: bool = False  # the line to change

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values; what is not known is left out."""
        site = self.site
        place = None if site is None else {"file": site.file, "line": site.line}
        found = {
            "kind": self.kind,
            "sentence": self.sentence,
            "site": place,
            "event": self.event,
            "tensor": self.tensor,
            "node": self.node,
            "decision": self.decision or None,
        }
        return {key: each for key, each in found.items() if each is not None}


@dataclass(frozen=True, slots=True, repr=False)
class Why:
    """What ``gradviz.why`` answers: data first, and text for whoever prints it.

    >>> step = Step("gate", "There `.detach()` lets the value through.", decision=True)
    >>> print(Why("w", "parameter", "none", "w has no gradient.", (step,)))
    w has no gradient.
      There `.detach()` lets the value through.     <- decision
    """

    subject: str  # "encoder.weight"
    kind: str  # a SubjectKind, or one of a later version, out of a file
    question: str  # "none", one of `questions`
    verdict: str  # one sentence
    steps: tuple[Step, ...] = ()
    finding: str = ""  # the code of the rule that names the same decision

    @property
    def decision(self) -> Step | None:
        """The step at which the program had a choice; None where there was none."""
        return next((each for each in self.steps if each.decision), None)

    def __str__(self) -> str:
        return "\n".join([self.verdict, *(f"  {_line(each)}" for each in self.steps)])

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return {
            "subject": self.subject,
            "kind": self.kind,
            "question": self.question,
            "verdict": self.verdict,
            "steps": [each.to_dict() for each in self.steps],
            "finding": self.finding,
        }

    def _repr_html_(self) -> str:
        rows = "".join(f"<li>{_html(each)}</li>" for each in self.steps)
        return (
            f'<div class="gradviz-why"><p><b>{escape(self.verdict)}</b></p>'
            f"<ol>{rows}</ol></div>"
        )


def _line(step: Step) -> str:
    if not step.decision:
        return step.sentence
    where = f" ({step.place})" if step.place else ""
    return f"{step.sentence}     <- decision{where}"


def _html(step: Step) -> str:
    text = escape(step.sentence)
    where = f" <small>{escape(step.place)}</small>" if step.place else ""
    marked = f"<strong>{text}</strong>{where} &larr; decision"
    return marked if step.decision else text + where
