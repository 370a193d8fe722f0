"""Runs a user's program as ``python`` would, while recording it.

The script must not notice: it is ``__main__``, sees its own arguments, folder and exit
status, and what it raises is reported with its own traceback and no frame of ours.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from inspect import ismodule
from typing import TYPE_CHECKING, ParamSpec

from gradviz import ir
from gradviz._capture.detail import BUDGET, How
from gradviz._capture.open_log import installed_engine, packages_of, refuse_unusable
from gradviz._capture.tracebacks import release_frames, without_our_frames
from gradviz.extras import is_installed
from gradviz.running.ending import Ending, await_threads, report
from gradviz.running.engine_alias import alias
from gradviz.running.last_words import Reserve, last_words
from gradviz.running.main_module import Program, as_main, execute
from gradviz.running.signals import Terminated, signals_as_errors, signals_held
from gradviz.running.steps_so_far import StepsSoFar, is_terminal
from gradviz.running.voice import Voice, descriptors_taken, flush
from gradviz.text.progress import Progress

if TYPE_CHECKING:
    from types import ModuleType

    from gradviz._capture.open_log import Engine
    from gradviz._capture.session import Session
    from gradviz.diagnosis.diagnose import Diagnosis


_WRITING = "gradviz: writing what was recorded; {} again gives it up."

P = ParamSpec("P")

_CUT_SHORT = (
    "gradviz: the script ends the process by {}; this is what was recorded until then."
)

_FROM_A_THREAD = (
    "gradviz: a thread of the script ends the process by {}; nothing can be written."
)

_FROM_OUTSIDE = KeyboardInterrupt, Terminated

_LACKING = (
    "gradviz: gradtape, which stands in for PyTorch here, has no such name. If PyTorch "
    "has it,\n         `--engine torch` runs the script on PyTorch itself."
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a run is for: its graph, its findings, both, or to step through it."""

    title: str
    steps: int
    graph: bool = True
    findings: bool = True
    keep_compiled: bool = False  # what torch.compile made is not run eagerly
    step: bool = False  # ask for commands at every backward pass
    detail: How = "auto"  # which steps are looked at in full
    budget: float = BUDGET  # times as long as that may make the run
    keep: tuple[str, ...] | None = None  # patterns of what gets a thumbnail first
    lines: bool = False  # tell what each line of the program assigned


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a script ended and what was recorded until then."""

    snapshot: ir.Snapshot | None  # None where no graph was wanted
    diagnosis: Diagnosis | None  # None where no findings were wanted
    error: str | None = None  # "ValueError: …" if it raised
    passes: int = 0  # backward passes that ended
    lines: tuple[str, ...] = ()  # what each line assigned, where that was wanted
    in_full: int | None = None  # passes looked at in full; None: all of them
    routine: frozenset[str] = frozenset()  # notes of the graph: how much of it is kept

    @property
    def is_empty(self) -> bool:
        """Whether the script raised before there was anything to record."""
        has_graph = self.snapshot is None or bool(self.snapshot.nodes)
        return self.error is not None and not has_graph and not self.diagnosis


Deliver = Callable[[Outcome], int | None]
"""Writes and says what was recorded; returns the exit status, if it is not to be 0."""


def run_program(
    program: Program,
    arguments: Sequence[str],
    *,
    engine: Engine | None,
    wanted: Wanted,
    voice: Voice,
    deliver: Deliver | None = None,
    whole_process: bool = False,
) -> Ending:
    """Run the program while recording it; report what it raises on stderr.

    With ``engine="gradtape"``, ``import torch`` gives gradtape in the program; without
    an engine, what the program imports is recorded. Where the ``whole_process`` is the
    program's, it is left to Python to end as the program made it; elsewhere everything
    is put back as it was. Raises CaptureError where the engine is not installed.
    """
    from gradviz._capture import record

    spoken = engine or engine_of(program.source)
    if spoken == "gradtape":
        refuse_unusable(spoken)  # before `import torch` gives what is not there
    recorder = record(
        title=wanted.title,
        steps=wanted.steps,
        engine=spoken,
        graph=wanted.graph,
        findings=wanted.findings,
        keep_compiled=wanted.keep_compiled,
        detail=wanted.detail,
        budget=wanted.budget,
        keep=wanted.keep,
    )
    recorder.annotates = False  # the whole report follows the traceback
    recorder.script = program.file
    recording = _Recording(recorder, wanted, program.file, voice, deliver)
    recording.on_gradtape = engine == "gradtape"
    substitute = _gradtape_as_torch() if engine == "gradtape" else nullcontext()
    around = _stepped(spoken) if wanted.step else signals_as_errors()
    main = as_main(program, arguments, stays=whole_process)
    with main as module, substitute, last_words(recording.close_early):
        with around:
            ending = recording.run(program, module, whole_process=whole_process)
        if ending.signal is not None:
            recording.deliver()  # a second signal gives it up
            return ending
        with signals_held() as came:
            verdict = recording.deliver()
    if came:
        return Ending(128 + came[0], came[0])
    return Ending(verdict) if verdict and not ending.status else ending


class _Recording:
    """One run of a script, recorded, and told once: at its end, or just before that."""

    def __init__(
        self,
        recorder: Session,
        wanted: Wanted,
        file: str,
        voice: Voice,
        deliver: Deliver | None,
    ) -> None:
        self._recorder = recorder
        self._wanted = wanted
        self._file = file
        self._voice = voice
        self._deliver = deliver
        self._process = os.getpid()
        self._thread = threading.get_ident()
        self._error: str | None = None
        self.on_gradtape = False  # `import torch` gives it
        self._reserve = Reserve()

    def run(
        self, program: Program, module: ModuleType, *, whole_process: bool
    ) -> Ending:
        """Run the script up to where Python would be gone."""
        if is_terminal(self._voice):
            self._recorder.after_pass = StepsSoFar(self._voice, self._recorder)
        self._recorder.begin(sys._getframe())
        raised = _raised_by(execute, program, module)
        ending = Ending(0)
        if isinstance(raised, SystemExit):
            ending = report(raised)
        if raised is None or isinstance(raised, SystemExit):
            raised = _raised_by(self._await_threads, whole_process) or raised
        self._reserve.release()
        self._recorder.end(raised)
        if raised is not None and not isinstance(raised, SystemExit):
            ending = self._report(raised)
            if not isinstance(raised, Terminated):
                self._await_threads(whole_process)
        if isinstance(raised, MemoryError):
            release_frames(raised)
        return ending

    def _await_threads(self, whole_process: bool) -> None:
        if not self._is_forked:
            await_threads(whole_process=whole_process)

    @property
    def _is_forked(self) -> bool:
        """Whether this is a child of the process that ran the script."""
        return os.getpid() != self._process

    def _report(self, error: BaseException) -> Ending:
        self._error = f"{type(error).__name__}: {error}"
        without_our_frames(error, keep=self._file)
        ending = report(error)
        if self.on_gradtape and _wants_more_of_torch(error):
            self._voice.say(_LACKING)
        if isinstance(error, _FROM_OUTSIDE) and self._deliver and not self._is_forked:
            again = "Ctrl-C" if isinstance(error, KeyboardInterrupt) else error
            self._voice.say(_WRITING.format(again))
        return ending

    def close_early(self, by: str) -> int | None:
        """Tell what was recorded, because the script ends the process by itself.

        Returns the status to end with, if the script would end it well.
        """
        if self._deliver is None:
            return None
        if threading.get_ident() != self._thread:
            self._voice.say(_FROM_A_THREAD.format(by))
            self._deliver = None
            return None
        self._voice.say(_CUT_SHORT.format(by))
        with suppress(Exception):
            self._recorder.end()
        return self.deliver(flushing=False)

    def deliver(self, *, flushing: bool = True) -> int | None:
        """Tell what was recorded, once; a failure of ours costs one sentence.

        Returns the status to end with, if the script has ended well.
        """
        if flushing:
            flush()
        deliver, self._deliver = self._deliver, None
        if deliver is None or self._is_forked:
            return None
        verdict = None
        self._reserve.release()
        with descriptors_taken():
            diagnosis = snapshot = None
            with Progress(self._voice.stream) as progress:
                if self._wanted.findings:
                    progress.says("looking for causes in what was recorded")
                    with self._voice.failures("what was found"):
                        diagnosis = self._recorder.diagnose()
                if self._wanted.graph:
                    progress.says("making the picture of what was recorded")
                    with self._voice.failures("the graph"):
                        snapshot = _below_script(self._recorder.snapshot(), self._file)
            lines: list[str] = []
            with self._voice.failures("the lines"):
                lines = self._lines()
            with self._voice.failures("the report"):
                passes, in_full = self._recorder.passes_told()
                outcome = Outcome(
                    snapshot,
                    diagnosis,
                    self._error,
                    self._recorder.passes,
                    tuple(lines),
                    in_full if in_full < passes else None,
                    self._recorder.routine_notes,
                )
                verdict = deliver(outcome)
        return verdict

    def _lines(self) -> list[str]:
        if not self._wanted.lines:
            return []
        from gradviz.tracing.lines import traced

        return [each for log in self._recorder.programs() for each in traced(log)]


def _raised_by(
    call: Callable[P, object], *given: P.args, **named: P.kwargs
) -> BaseException | None:
    """Return what a call raises: to be told once it is no longer being handled."""
    try:
        call(*given, **named)
    except BaseException as error:  # SystemExit and KeyboardInterrupt end it too
        return error
    return None


def engine_of(source: bytes) -> Engine:
    """Tell which engine a script is about: gradtape only if it imports that alone."""
    found = packages_of(source)
    if "torch" in found:
        return "torch"
    if "gradtape" in found:
        return "gradtape"
    others = found - sys.stdlib_module_names - {"gradviz", "numpy"}
    if others and is_installed("torch"):
        return "torch"  # a module of the user's may import it
    return installed_engine()


@contextmanager
def _gradtape_as_torch() -> Generator[None, None, None]:
    with (
        alias("torch", "gradtape"),
        alias("safetensors.torch", "gradtape.safetensors"),
    ):
        yield


def _stepped(engine: Engine) -> AbstractContextManager[None]:
    from gradviz.stepping.script import every_backward

    return every_backward(engine)


def _below_script(snapshot: ir.Snapshot, file: str) -> ir.Snapshot:
    """Cut the stacks at the script: who called it (us, runpy) is none of its frames."""
    inside = {row for row, site in enumerate(snapshot.sites) if site.file == file}
    nodes: list[ir.OpNode] = []
    for node in snapshot.nodes:
        ends = [place for place, row in enumerate(node.stack, 1) if row in inside]
        if ends or node.site in inside:
            node = replace(node, stack=node.stack[: ends[-1] if ends else 0])
        nodes.append(node)
    return replace(snapshot, nodes=tuple(nodes))


def _wants_more_of_torch(error: BaseException) -> bool:
    """Tell whether a name was asked of gradtape that it does not have."""
    if isinstance(error, ImportError):
        package = error.name or ""
    elif isinstance(error, AttributeError):
        found = error.obj
        package = getattr(found, "__name__" if ismodule(found) else "__module__", "")
    else:
        return False
    return package.partition(".")[0] in ("torch", "gradtape")
