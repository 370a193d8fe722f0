"""Open the log of a run for the engine that the run uses."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterable
from contextlib import suppress
from types import TracebackType
from typing import Any, Literal, Protocol, Self

from gradviz._capture.detail import Detail
from gradviz._capture.recorder.engine import RecordedEngine
from gradviz._capture.training_loop.log import LoopLog
from gradviz.errors import CaptureError
from gradviz.extras import is_installed, missing
from gradviz.program.events import Call
from gradviz.program.log import Identities
from gradviz.program.records import Program
from gradviz.program.sources import parsed
from gradviz.program.values import RawSite

Engine = Literal["gradtape", "torch"]

_NO_ENGINE = (
    "There is nothing to record: neither PyTorch nor gradtape is installed here. "
    "`pip install torch`, or `pip install 'autogradviz[gradtape]'`."
)


class RunLog(Protocol):
    """Logs what its ``with`` block does."""

    program: Program
    tensors: Identities
    loop: LoopLog

    @property
    def next_index(self) -> int:
        """The index of the next event."""
        ...

    @property
    def passes_over(self) -> int:
        """How many passes have ended."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...

    def site(self) -> RawSite | None:
        """Return the innermost frame of the user's; None where none is in a file."""

    def preflight(self, loss: Any, /) -> object:
        """Log what a backward pass from a tensor would walk, without running it."""

    def refresh(self) -> None:
        """Bring names and tables up to date, for whoever reads the log now."""

    def node_key(self, node: Any, /) -> int | None:
        """Return the key of a backward function."""

    def raised(self, error: BaseException) -> None:
        """Log an error that left a part of the run, and go on."""


_ENGINES: tuple[Engine, Engine] = ("gradtape", "torch")


def imported_engines() -> list[Engine]:
    """Return the engines that the program has imported, each once.

    Where ``torch`` is another name of gradtape, as ``--engine gradtape`` makes it, that
    is gradtape.
    """
    found: list[Engine] = [name for name in _ENGINES if sys.modules.get(name)]
    aliased = sys.modules.get("torch") is sys.modules.get("gradtape")
    return found[:1] if aliased else found


def packages_of(source: str | bytes) -> set[str]:
    """Return the packages that a source imports; none of one that cannot be read.

    >>> sorted(packages_of("import os.path, torch.nn as nn\\nfrom . import models"))
    ['os', 'torch']
    """
    found: set[str] = set()
    tree = parsed(source)
    if tree is not None:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add((node.module or "").partition(".")[0])
    return found


def import_engines(source: str) -> None:
    """Import the engines that a source is about to import, so that they can be logged.

    An engine that cannot be imported tells the source so itself.
    """
    for engine in packages_of(source).intersection(_ENGINES):
        with suppress(Exception):
            importlib.import_module(engine)


def open_log(
    engine: Engine,
    *,
    scan: bool = True,
    detail: Detail | None = None,
    keep_compiled: bool = False,
) -> RunLog:
    """Return a context manager that logs what its block does.

    ``scan`` also looks at the values of every result and gradient, which finds NaN and
    Inf where they are born; ``detail`` says in which steps, all if it is None.
    ``keep_compiled`` leaves what ``torch.compile`` made as it is, where a log would let
    it run eagerly to see inside. Whether the engine can be logged,
    :func:`refuse_unusable` and :func:`usable` tell.

    >>> import gradtape as torch
    >>> with open_log("gradtape") as log:
    ...     y = torch.ones(2) * 2
    >>> [call.op for call in log.program.events][-1]
    'mul'
    """
    if engine == "gradtape":
        from gradviz._capture.adapters.gradtape.log import GradtapeLog

        return GradtapeLog(scan=scan)
    from gradviz._capture.adapters.pytorch.log import TorchLog

    return TorchLog(scan=scan, detail=detail, keep_compiled=keep_compiled)


def recorded_engine(engine: Engine, *, keep_compiled: bool = False) -> RecordedEngine:
    """Return what graphs of an engine are recorded with."""
    if engine == "gradtape":
        from gradviz._capture.adapters.gradtape.graph_facts import ENGINE

        return ENGINE
    from gradviz._capture.adapters.pytorch.graph_facts import TorchEngine

    return TorchEngine(keep_compiled=keep_compiled)


def usable(engines: Iterable[Engine]) -> tuple[list[Engine], list[str]]:
    """Return the engines that can be recorded, and why the others cannot.

    >>> usable(["gradtape"])
    (['gradtape'], [])
    """
    found: list[Engine] = []
    reasons: list[str] = []
    for engine in engines:
        try:
            refuse_unusable(engine)
        except CaptureError as error:
            reasons.append(str(error))
        else:
            found.append(engine)
    return found, reasons


def installed_engine() -> Engine:
    """Return an engine that is installed, for a program that names none."""
    return "torch" if missing("gradtape") and is_installed("torch") else "gradtape"


def refuse_unusable(engine: Engine) -> None:
    """Raise CaptureError if the engine is not installed, or too old."""
    lacks_gradtape = missing("gradtape")
    if lacks_gradtape and not is_installed("torch"):
        raise CaptureError(_NO_ENGINE)
    if engine == "gradtape":
        if lacks_gradtape:
            raise CaptureError(lacks_gradtape)
        return
    if not is_installed("torch"):
        raise CaptureError(
            "PyTorch is not installed here. Install it, or run the program on gradtape "
            "with `--engine gradtape`."
        )
    from gradviz._capture.adapters.pytorch.versions import refuse_older

    refuse_older(importlib.import_module("torch"))


class RecordedSites:
    """The lines of PyTorch's nodes, as far as the recording that is open knows them."""

    def __init__(self) -> None:
        self._log: Any = None
        self._sites: dict[int, Any] = {}
        if "torch" in sys.modules:
            self._log = recorded_engine("torch").innermost()
        for event in () if self._log is None else self._log.program.events:
            if isinstance(event, Call) and event.site is not None:
                self._sites.update(dict.fromkeys(event.nodes, event.site))

    def of(self, node: Any) -> Any:
        """Return the raw site of what made a node; None where it is not known."""
        if not self._sites or not hasattr(node, "_sequence_nr"):
            return None
        return self._sites.get(self._log.node_key(node))
