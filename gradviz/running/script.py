"""Runs a user's program as ``python`` would, while recording it.

The script must not notice: it is ``__main__``, sees its own arguments, folder and exit
status, and what it raises is reported with its own traceback and no frame of ours.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from inspect import ismodule
from typing import TYPE_CHECKING

from gradviz import ir
from gradviz._capture.detail import BUDGET, How
from gradviz._capture.open_log import packages_of
from gradviz._capture.tracebacks import without_our_frames
from gradviz.running.engine_alias import alias
from gradviz.running.main_module import Program, as_main, execute
from gradviz.running.signals import Terminated, signals_as_errors

if TYPE_CHECKING:
    from gradviz._capture.open_log import Engine
    from gradviz.diagnosis.diagnose import Diagnosis


_WRITING = "gradviz: writing what was recorded; {} again gives it up."

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
    step: bool = False  # ask for commands at every backward pass
    detail: How = "auto"  # which steps are looked at in full
    budget: float = BUDGET  # times as long as that may make the run


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a script ended and what was recorded until then."""

    snapshot: ir.Snapshot | None  # None where no graph was wanted
    diagnosis: Diagnosis | None  # None where no findings were wanted
    status: int  # the exit status that the script would have given
    error: str | None = None  # "ValueError: …" if it raised
    forked: bool = False  # this is a child of the process that ran the script
    passes: int = 0  # backward passes that ended

    @property
    def is_empty(self) -> bool:
        """Whether the script raised before there was anything to record."""
        has_graph = self.snapshot is None or bool(self.snapshot.nodes)
        return self.error is not None and not has_graph and not self.diagnosis


def run_program(
    program: Program, arguments: Sequence[str], *, engine: Engine | None, wanted: Wanted
) -> Outcome:
    """Run the program while recording it; report what it raises on stderr.

    With ``engine="gradtape"``, ``import torch`` gives gradtape in the program; without
    an engine, what the program imports is recorded.
    """
    from gradviz._capture import record

    spoken = engine or engine_of(program.source)
    recorder = record(
        title=wanted.title,
        steps=wanted.steps,
        engine=spoken,
        graph=wanted.graph,
        findings=wanted.findings,
        detail=wanted.detail,
        budget=wanted.budget,
    )
    recorder.annotates = False  # the whole report follows the traceback
    substitute = _gradtape_as_torch() if engine == "gradtape" else nullcontext()
    around = _stepped(spoken) if wanted.step else signals_as_errors()
    process, status, text = os.getpid(), 0, None
    recorder.script = file = program.file
    with as_main(program, arguments) as module, substitute, around:
        try:
            with recorder:
                execute(program, module)
                _await_threads()
        except BaseException as error:  # SystemExit and KeyboardInterrupt end it too
            if not isinstance(error, SystemExit):
                text = f"{type(error).__name__}: {error}"
            without_our_frames(error, keep=file)
            status = _report(error)
            if engine == "gradtape" and _wants_more_of_torch(error):
                print(_LACKING, file=sys.stderr)
            if isinstance(error, _FROM_OUTSIDE) and not wanted.step:
                again = "Ctrl-C" if isinstance(error, KeyboardInterrupt) else error
                print(_WRITING.format(again), file=sys.stderr)
        _flush()
        if os.getpid() != process:
            return Outcome(None, None, status, text, forked=True)
        snapshot = diagnosis = None
        if wanted.findings:
            diagnosis = recorder.diagnose()
        if wanted.graph:
            snapshot = _below_script(recorder.snapshot(), file)
        return Outcome(snapshot, diagnosis, status, text, passes=recorder.passes)


def engine_of(source: bytes) -> Engine:
    """Tell which engine a script is about: gradtape only if it imports that alone."""
    found = packages_of(source)
    if "torch" in found:
        return "torch"
    others = found - sys.stdlib_module_names - {"gradtape", "gradviz", "numpy"}
    known = "gradtape" in found or not others or not find_spec("torch")
    return "gradtape" if known else "torch"  # a module of the user's may import it


def _await_threads() -> None:
    """Wait for the script's threads, as Python does at the end of a script."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


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


def _report(error: BaseException) -> int:
    """Do with the error what Python does at the end of a script; return the status."""
    _flush()
    if isinstance(error, SystemExit):
        if error.code is None or isinstance(error.code, int):
            return (error.code or 0) & 0xFF
        print(error.code, file=sys.stderr)
        return 1
    sys.excepthook(type(error), error, error.__traceback__)
    if isinstance(error, Terminated):
        return error.status
    return 130 if isinstance(error, KeyboardInterrupt) else 1


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


def _flush() -> None:
    """Let what the script printed come before what we print."""
    for stream in (sys.stdout, sys.stderr):
        # The script may have closed or replaced them; Python complains at exit.
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
