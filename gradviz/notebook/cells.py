"""What gradviz does while cells run: explain errors, and follow one cell after another.

IPython is asked for one thing only, its place for custom exception handlers, and gets
it back as it was as soon as nothing is recorded any more.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from types import FrameType, TracebackType
from typing import Any

from gradviz import ir
from gradviz._capture.failed_cell import graph_of_failure
from gradviz._capture.open_log import (
    Engine,
    RunLog,
    import_engines,
    imported_engines,
    open_log,
    usable,
)
from gradviz._capture.tracebacks import entries, without_our_frames
from gradviz.diagnosis.attach import with_findings
from gradviz.diagnosis.cuts import with_cuts
from gradviz.diagnosis.diagnose import Diagnosis, diagnose
from gradviz.notebook.release import ReleaseService
from gradviz.program.log import UserFiles
from gradviz.render.text import to_text
from gradviz.services import Shown
from gradviz.showing.notebook import notebook_of
from gradviz.text.findings import findings_text

Explain = Callable[[BaseException], None]


class ErrorHook:
    """Lets functions see what a cell raised before IPython prints its traceback.

    So a note that they add is printed with it. IPython prints as it always does, but
    without the frames inside gradviz and gradtape, which say nothing about the cell.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._explain: list[Explain] = []
        self._before: tuple[Any, Any] | None = None

    def add(self, explain: Explain) -> None:
        """Call ``explain`` with every error from now on."""
        if not self._explain:
            self._before = self._shell.custom_exceptions, self._shell.CustomTB
            self._shell.set_custom_exc((Exception,), self._handle)
        self._explain.append(explain)

    def remove(self, explain: Explain) -> None:
        """Stop calling ``explain``; without any left IPython is as it was."""
        if explain in self._explain:
            self._explain.remove(explain)
        if not self._explain and self._before is not None:
            self._shell.custom_exceptions, self._shell.CustomTB = self._before
            self._before = None

    def _handle(
        self,
        shell: Any,
        kind: type[BaseException],
        error: BaseException,
        trace: TracebackType | None,
        tb_offset: int | None = None,
    ) -> list[str] | None:
        before = self._before
        for explain in list(self._explain):
            with suppress(Exception):  # the user's own error is what counts
                explain(error)
        if before is not None and issubclass(kind, before[0]):
            return before[1](kind, error, trace, tb_offset)
        without_our_frames(error)
        shell.showtraceback(
            (kind, error, error.__traceback__ or trace),
            tb_offset=tb_offset,
            running_compiled_code=True,
        )
        return None


class Following:
    """``%gradviz on``: one log over all cells; a card below each cell that fails."""

    def __init__(self, shell: Any, hook: ErrorHook) -> None:
        self._shell = shell
        self._hook = hook
        self._logs: dict[Engine, RunLog] = {}
        self._said: set[str] = set()  # why an engine is not followed
        hook.add(self._explain)
        shell.events.register("pre_run_cell", self._join)
        self._starts: dict[Engine, int] = {}  # the first event of the running cell
        self._join_engines()

    def close(self) -> None:
        """Stop following; what was shown stays."""
        self._hook.remove(self._explain)
        self._shell.events.unregister("pre_run_cell", self._join)
        for log in self._logs.values():
            log.__exit__(None, None, None)
        self._logs.clear()

    def diagnose(self) -> Diagnosis:
        """Return the findings about all cells so far."""
        found = [diagnose(log.program) for log in self._logs.values()]
        return max(found, key=len, default=Diagnosis((), (), ()))

    def _join(self, info: Any) -> None:
        """Follow what a cell uses, which is about to run."""
        with suppress(Exception):  # what no Python can be made of says so when it runs
            import_engines(self._shell.transform_cell(info.raw_cell))
        self._join_engines()

    def _join_engines(self) -> None:
        """Follow every engine that is imported by now; say once which cannot be."""
        engines, reasons = usable(imported_engines())
        for reason in {*reasons} - self._said:
            print(reason)
            self._said.add(reason)
        for engine in engines:
            if engine not in self._logs:
                log = open_log(engine, scan=False, keep_compiled=True)
                self._logs[engine] = log.__enter__()
        for engine, log in self._logs.items():
            self._starts[engine] = log.next_index

    def _explain(self, error: BaseException) -> None:
        for log in self._logs.values():
            log.raised(error)
        if not self._logs:
            return
        diagnosis = diagnose(self._busiest().program)
        if not diagnosis.explains:  # it may know the cause of an error before this one
            return
        error.add_note(findings_text(diagnosis, limit=1))
        # Now, not at the end of the cell: what the traceback holds may go until then.
        graph = self._card(error, diagnosis)
        card = Shown(graph, {"release": ReleaseService(error)})
        # The note has said the finding; where all is text, the card does not repeat it.
        text = to_text(replace(graph, findings=()))
        notebook = notebook_of(self._shell)
        notebook.at_end_of_cell(lambda _: notebook.show(card, text=text))

    def _busiest(self) -> RunLog:
        """Return the log of the engine that the cell used: both hear of its error."""
        ran = {
            log: log.next_index - self._starts.get(engine, 0)
            for engine, log in self._logs.items()
        }
        return max(ran, key=ran.__getitem__)

    def _card(self, error: BaseException, diagnosis: Diagnosis) -> ir.Snapshot:
        """Return what is to blame, on the graph that the cell had built so far."""
        title = f"{type(error).__name__}: {error}".split("\n")[0]
        frame = _innermost(error.__traceback__)
        graphs = [
            (graph_of_failure(log, self._starts.get(engine, 0), frame, title), log)
            for engine, log in self._logs.items()
        ]
        graph, log = max(graphs, key=lambda each: len(each[0].nodes))
        graph = _with_error(graph, title)
        if graph.nodes:
            hits = [hit for _, hit in diagnosis.hits]
            graph = with_cuts(graph, log.program, hits)
        return with_findings(graph, diagnosis)


def _with_error(graph: ir.Snapshot, text: str) -> ir.Snapshot:
    """Return the graph with the error as its last event, as in a recording.

    Its title needs to name the kind of error only.
    """
    events = graph.events
    if not any(event.kind == "error" for event in events):
        last = ir.Event("error", events[-1].time_ns if events else 0, text=text)
        events = (*events, last)
    return replace(graph, title=text.partition(":")[0], events=events)


def _innermost(trace: TracebackType | None) -> FrameType | None:
    """Return the user's frame in which an error arose."""
    files = UserFiles()
    frames = [entry.tb_frame for entry in entries(trace)]
    users = [frame for frame in frames if files[frame.f_code.co_filename]]
    return users[-1] if users else None
