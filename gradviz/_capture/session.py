"""What ``gradviz.record()`` gives: one block of code, its graph and its findings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, get_args
from weakref import WeakValueDictionary, ref

from gradviz import ir
from gradviz._capture.detail import BUDGET, Detail, How
from gradviz._capture.open_log import (
    Engine,
    RunLog,
    imported_engines,
    installed_engine,
    open_log,
    recorded_engine,
    usable,
)
from gradviz._capture.recorder.gc_pause import collector_paused
from gradviz._capture.recorder.live import FirstSource
from gradviz._capture.recorder.live_log import LogSource
from gradviz._capture.recorder.raw import Keep, Patterns
from gradviz._capture.recorder.recorder import Recorder
from gradviz._providers import provided
from gradviz.errors import CaptureError, QuestionError
from gradviz.services import Service
from gradviz.text.words import counted

if TYPE_CHECKING:
    from gradviz._capture.asking import Asked
    from gradviz.answers.answer import Why
    from gradviz.diagnosis.diagnose import Diagnosis
    from gradviz.program import Program
    from gradviz.program.history import History
    from gradviz.showing.live_view import LiveView


@dataclass(slots=True)
class _Part:
    """What one engine is recorded with; None where that is not wanted, or failed."""

    engine: Engine
    detail: Detail
    recorder: Recorder | None = None
    log: RunLog | None = None

    @property
    def passes(self) -> int:
        """How many backward passes it has seen."""
        if self.recorder is not None:
            return self.recorder.passes
        return 0 if self.log is None else self.log.passes_over


_RECORDINGS: WeakValueDictionary[int, Session] = WeakValueDictionary()
"""Every recorder that was used and still lives, by the order of their beginnings."""


_RECORDED_BY = "__gradviz_recorder__"


class _Kept:
    """Keeps the recorder whose block an exception left, as long as the exception.

    Where the exception is pickled, to go to another process, this stays behind.
    """

    def __init__(self, session: Session) -> None:
        self.session = session

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()


def recorder_of(error: BaseException) -> Session | None:
    """Return the recorder whose block an exception left."""
    kept = getattr(error, _RECORDED_BY, None)
    return kept.session if isinstance(kept, _Kept) else None


def recordings() -> list[Session]:
    """Return the recorders that were used and still live, newest first."""
    return [_RECORDINGS[key] for key in sorted(_RECORDINGS.keys(), reverse=True)]


_MOST_AT_ONCE = 2_000  # events that a repr has diagnosed, if nobody has before

_NO_GRAPH = (
    "No graph was recorded: the recorder was not used in a `with` yet, or it was made "
    "with graph=False."
)


class Session:
    """Holds what happened inside its ``with`` block, on every engine in use.

    A step ends with a backward pass. The last ``steps`` of them are kept; the snapshot
    says how many were forgotten. Activations and gradients are summarized at once and
    never kept.

    >>> import gradtape as torch, gradviz
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> with gradviz.record() as rec:
    ...     (x * x).sum().backward()
    >>> [node.name for node in rec.snapshot().nodes]
    ['AccumulateGrad', 'MulBackward0', 'SumBackward0']
    >>> rec.diagnose()
    No findings in 1 backward pass, 2 operations.
    >>> rec
    <recorder of gradtape: 1 backward pass, no findings>
    """

    def __init__(
        self,
        *,
        title: str = "",
        values: bool = True,
        steps: int = 4,
        engine: Engine | None = None,
        graph: bool = True,
        findings: bool = True,
        keep_compiled: bool = False,
        detail: How = "auto",
        budget: float = BUDGET,
        keep: Patterns = None,
    ) -> None:
        if steps < 1:
            raise ValueError(f"a recording keeps at least 1 step, not {steps}")
        if engine not in (None, *get_args(Engine)):
            raise ValueError(f"engine is 'gradtape', 'torch' or None, not {engine!r}")
        Detail(detail, budget)  # refuses what it does not know
        self.title = title
        self.annotates = True  # an error that leaves the block gets its cause as a note
        self._values = values
        self._steps = steps
        self._engine: Engine | None = engine
        self._detail: How = detail
        self._budget = budget
        self._keep = Keep.of(keep)
        self._wants_graph = graph
        self._wants_findings = findings
        self._keep_compiled = keep_compiled
        self.script: str | None = None  # the file, where a whole program is recorded
        self.after_pass: Callable[[], None] | None = None  # called when one has ended
        self._parts: list[_Part] = []
        self._notes: list[str] = []  # what could not be recorded, and why
        self._open = False
        self._diagnosis: Diagnosis | None = None
        self._asked: Asked | None = None
        self._followings: list[LiveView] = []

    def __repr__(self) -> str:
        title = f" {self.title!r}" if self.title else ""
        if not self._parts:
            return f"<recorder{title}: nothing yet>"
        used = [part for part in self._parts if part.passes] or self._parts
        engines = " and ".join(part.engine for part in used)
        passes = counted(sum(part.passes for part in self._parts), "backward pass")
        state = " so far, recording" if self._open else f", {self._verdict()}"
        return f"<recorder{title} of {engines}: {passes}{state}>"

    def _verdict(self) -> str:
        """Return the first finding in a few words; a repr never raises.

        A debugger asks for it at every stop: of a long run it says what is known.
        """
        if not self._wants_findings:
            return "findings were not asked for"
        logs = [part.log for part in self._parts if part.log is not None]
        events = sum(len(log.program.raw) for log in logs)
        if self._diagnosis is None and events > _MOST_AT_ONCE:
            return f"{events:,} events, not diagnosed yet"
        try:
            diagnosis = self.diagnose()
        except Exception as failure:
            return f"no verdict: {type(failure).__name__}"
        if not diagnosis:
            return "no findings"
        first, rest = diagnosis.findings[0], len(diagnosis) - 1
        line = ""
        if first.culprit is not None:
            line = f", line {diagnosis.sites[first.culprit].line}"
        more = f", and {counted(rest, 'more finding')}" if rest else ""
        return f"{first.severity} {first.code} {first.slug}{line}{more}"

    # ---- the with block -----------------------------------------------------------

    def __enter__(self) -> Session:
        self.begin(sys._getframe(1))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end(error)

    def begin(self, frame: FrameType | None) -> None:
        """Start to record; variables of the frame give tensors their names."""
        if self._open:
            raise RuntimeError("this recorder is recording already; make a second one")
        self._diagnosis = self._asked = None
        _RECORDINGS[max(_RECORDINGS.keys(), default=0) + 1] = self
        self._parts = [
            _Part(engine, Detail(self._detail, self._budget))
            for engine in self._engines()
        ]
        self._open = True
        for part in self._parts:
            detail = part.detail
            if self._wants_findings:
                log = open_log(
                    part.engine,
                    scan=self._values,
                    detail=detail,
                    keep_compiled=self._keep_compiled,
                )
                with self._noting("Findings were not recorded"):
                    part.log = log.__enter__()
                    part.log.program.script = self.script
                    part.log.program.after_pass = self.after_pass
            if self._wants_graph:
                recorder = self._recorder(part.engine, detail)
                with self._noting("The graph was not recorded"):
                    recorder.begin(frame, part.log)
                    part.recorder = recorder

    def end(self, error: BaseException | None = None) -> None:
        """Stop to record. An error that the findings explain gets them as a note."""
        if not self._open:
            return
        self._open = False
        if self._engine is None:
            self._note_latecomers()
        kind = None if error is None else type(error)
        trace = None if error is None else error.__traceback__
        for part in reversed(self._parts):
            with self._noting("The graph was not recorded to its end"):
                if part.recorder is not None:
                    part.recorder.end(error)
            with self._noting("The log was not closed as it should"):
                if part.log is not None:
                    part.log.__exit__(kind, error, trace)
        if error is not None:
            with suppress(Exception):  # one with slots
                setattr(error, _RECORDED_BY, _Kept(self))
        if error is not None and self.annotates:
            with self._noting("The error could not be explained"):
                self._explain(error)
        for following in self._followings:
            with self._noting("The view was not brought to its end"):
                if not following.end(self):
                    self.show()
        self._followings.clear()

    def _note_latecomers(self) -> None:
        recorded = {part.engine for part in self._parts}
        self._notes += [
            f"`{engine}` was first imported while the recording ran, and is not in it: "
            "import it before."
            for engine in imported_engines()
            if engine not in recorded
        ]

    @contextmanager
    def _noting(self, what: str) -> Generator[None, None, None]:
        """Keep failures of ours from the user's block; note what is missing."""
        try:
            yield
        except Exception as failure:
            self._notes.append(f"{what}: {type(failure).__name__}: {failure}")

    def _explain(self, error: BaseException) -> None:
        from gradviz.text.findings import findings_text

        diagnosis = self.diagnose()
        if diagnosis.explains:
            error.add_note(findings_text(diagnosis, limit=1))

    def _engines(self) -> list[Engine]:
        """Return the engines to record; raise CaptureError where none can be."""
        wanted: list[Engine] = imported_engines() or [installed_engine()]
        if self._engine is not None:
            wanted = [self._engine]
        engines, reasons = usable(wanted)
        if not engines:
            raise CaptureError(reasons[0])
        self._notes += reasons
        return engines

    def _recorder(self, engine: Engine, detail: Detail) -> Recorder:
        return Recorder(
            recorded_engine(engine),
            title=self.title,
            values=self._values,
            steps=self._steps,
            detail=detail,
            keep=self._keep,
        )

    # ---- results ------------------------------------------------------------------

    @property
    def passes(self) -> int:
        """How many backward passes ended in the block."""
        recorders = [part.recorder for part in self._parts]
        return max((each.passes for each in recorders if each is not None), default=0)

    @property
    def routine_notes(self) -> frozenset[str]:
        """The notes of the last snapshot that only say how much is kept of a run."""
        recorders = [part.recorder for part in self._parts if part.recorder is not None]
        return frozenset(note for each in recorders for note in each.routine)

    def passes_told(self) -> tuple[int, int]:
        """Return how many passes have ended, and how many were looked at in full."""
        details = [(part.passes, part.detail) for part in self._parts]
        full = [d.steps_in_full if d.is_sampled else n for n, d in details]
        return sum(count for count, _ in details), sum(full)

    def snapshot(self) -> ir.Snapshot:
        """Return what was recorded so far, with what was found in it once it is over.

        Of a block that used both engines, the larger graph.
        """
        with collector_paused():
            return self._snapshot()

    def _snapshot(self) -> ir.Snapshot:
        from gradviz.answers.saved import with_answers
        from gradviz.diagnosis.attach import with_findings
        from gradviz.diagnosis.cuts import with_cuts
        from gradviz.diagnosis.term_shares import with_term_shares

        found = [
            (part.recorder.snapshot(), part.log)
            for part in self._parts
            if part.recorder is not None
        ]
        if not found:
            raise CaptureError(
                " ".join(self._notes)
                if self._parts and self._wants_graph
                else _NO_GRAPH
            )
        snapshot, log = max(found, key=lambda each: len(each[0].nodes))
        snapshot = replace(snapshot, notes=(*snapshot.notes, *self._notes))
        if self._open:
            return snapshot
        runs, diagnosis = self.asked().runs, self.diagnose()
        if log is None:
            return with_findings(snapshot, diagnosis)
        run = next(run for each, run in runs if each is log)
        hits = [hit for _, hit in diagnosis.hits]
        snapshot = with_cuts(snapshot, run.history, hits)
        snapshot = with_term_shares(snapshot, run.history)
        snapshot = with_findings(snapshot, diagnosis, run.history.program)
        return with_answers(snapshot, run)

    def diagnose(self) -> Diagnosis:
        """Return the findings, most likely cause first; empty where all is well."""
        return self._diagnosed([each for _, each in self._read()])

    def why(self, x: Any, question: str | None = None) -> Why:
        """Say why something of this recording is as it is; see :func:`gradviz.why`.

        ``x`` is a tensor, a parameter, a module, a backward function or an exception,
        or a name: ``"encoder.weight"``, ``"encoder"``, ``"loss"``, ``"error"``.
        """
        try:
            return self.asked().why(x, question)
        except QuestionError as error:
            raise error.with_traceback(None) from None  # frames of ours say nothing

    def asked(self) -> Asked:
        """Return the recording, ready for questions."""
        from gradviz._capture.asking import Asked

        if self._asked is None or self._open:
            read = self._read()
            self._asked = Asked(read, self._diagnosed([each for _, each in read]))
        return self._asked

    def _read(self) -> list[tuple[RunLog, History]]:
        """Return the logs with their indexes, as they are now."""
        from gradviz.program.history import History

        if self._asked is not None and not self._open:
            return [(log, run.history) for log, run in self._asked.runs]
        logs = [part.log for part in self._parts if part.log is not None]
        if self._open:
            for log in logs:
                log.refresh()
        return [(log, History(log.program)) for log in logs]

    def _diagnosed(self, histories: list[History]) -> Diagnosis:
        from gradviz.diagnosis.diagnose import Diagnosis, diagnose

        if self._diagnosis is not None:
            return self._diagnosis
        with collector_paused():
            found = list(map(diagnose, histories))
        together = _together(found) if found else Diagnosis((), (), ())
        if not self._open:
            self._diagnosis = together
        return together

    def services(self) -> dict[str, Service]:
        """Return what a view of this recording can ask for, which does not hold it."""
        return dict(provided("recording_services")(ref(self)))

    def programs(self) -> list[Program]:
        """Return the log of each engine that was recorded."""
        return [part.log.program for part in self._parts if part.log is not None]

    def living(self) -> Iterator[Any]:
        """Yield the tensors that were recorded and that the program still holds."""
        for part in self._parts:
            if part.log is not None:
                yield from (tensor for _, tensor in part.log.tensors.alive())

    def source(self) -> FirstSource:
        """Return what a live view of this recording follows."""
        recorders = [part.recorder for part in self._parts if part.recorder is not None]
        return FirstSource([LogSource(recorder) for recorder in recorders])

    def show(self) -> None:
        """Show the recorded graph; see :func:`gradviz.show`.

        In a notebook and inside the ``with`` block the view follows it live.
        """
        from gradviz.showing.show import follow, show  # late: it stands above capture

        following = follow(self.source()) if self._open else None
        if following is None:
            show(self)
        else:
            self._followings.append(following)


def _together(found: list[Diagnosis]) -> Diagnosis:
    """Return the one diagnosis that says something; two engines rarely mix.

    Of several, that of the engine which did most: any of them saw the exception.
    """

    def did(each: Diagnosis) -> tuple[bool, int]:
        seen = each.looked_at
        return bool(each), 0 if seen is None else seen.operations

    best = max(found, key=did)
    notes = dict.fromkeys(note for each in found for note in each.notes)
    return replace(best, notes=tuple(notes))
