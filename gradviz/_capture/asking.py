"""Ask a recording why something is as it is: the thing itself, or what it is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradviz._capture.open_log import RunLog
from gradviz.answers.answer import Why
from gradviz.answers.ask import why, why_named
from gradviz.answers.run import Run
from gradviz.answers.subjects import Subject, of_tensor
from gradviz.diagnosis.diagnose import Diagnosis
from gradviz.errors import QuestionError
from gradviz.program import History

_UNKNOWN = (
    "this recording has not met that {kind}: ask about a tensor, a parameter, a module "
    "or a backward function that the recorded code used, or about its name"
)


class Asked:
    """The logs of one recording, ready for questions."""

    def __init__(
        self, read: Sequence[tuple[RunLog, History]], diagnosis: Diagnosis
    ) -> None:
        busiest = sorted(read, key=lambda each: -each[0].next_index)
        self.runs = [(log, Run(history, diagnosis)) for log, history in busiest]

    def knows(self, thing: Any) -> bool:
        """Tell whether any of the logs has met a thing; of names, any recording may."""
        if isinstance(thing, str):
            return False
        return any(subject_of(log, run, thing) is not None for log, run in self.runs)

    def why(self, thing: Any, question: str | None = None) -> Why:
        """Answer a question about a thing, or about what is called so.

        Raises QuestionError where the recording does not know it.
        """
        if isinstance(thing, str):
            return self._named(thing, question)
        for log, run in self.runs:
            subject = subject_of(log, run, thing)
            if subject is not None:
                return why(run, subject, question)
        raise QuestionError(_UNKNOWN.format(kind=type(thing).__name__))

    def _named(self, name: str, question: str | None) -> Why:
        failures: list[QuestionError] = []
        for _, run in self.runs:
            try:
                return why_named(run, name, question)
            except QuestionError as error:
                failures.append(error)
        raise failures[0] if failures else QuestionError("nothing was recorded yet")


def subject_of(log: RunLog, run: Run, thing: Any) -> Subject | None:
    """Return what a live thing is in a log; None where it was not met."""
    if isinstance(thing, BaseException):
        raised = run.history.raised
        same = raised is not None and raised.kind == type(thing).__name__
        return Subject("error", raised=raised) if same else None
    tensor = log.tensors.known(thing)
    if tensor is not None:
        return of_tensor(run.history, tensor)
    module = log.loop.modules.known(thing)
    if module is not None:
        return Subject("module", module=run.history.program.modules.get(module))
    if hasattr(thing, "next_functions"):
        key = log.node_key(thing)
        made = None if key is None else run.graph.tensor_of(key)
        return None if made is None else of_tensor(run.history, made)
    return None
