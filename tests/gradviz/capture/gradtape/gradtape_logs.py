"""Run functions under the program log of gradtape, and look for kinds of events."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import gradtape as torch
from gradviz._capture.adapters.gradtape.log import GradtapeLog
from gradviz.program.events import Call, Event
from gradviz.program.records import Program

E = TypeVar("E", bound=Event)


def logged(run: Callable[[], object], *, scan: bool = True) -> Program:
    """Run a function under the log; what it raises is part of the log."""
    log = GradtapeLog(scan=scan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with log:
                kept = run()
                del kept
        except (RuntimeError, ValueError):
            pass
    assert log.program.notes == []
    return log.program


def of(program: Program, kind: type[E]) -> list[E]:
    """Return the events of one kind."""
    return [event for event in program.events if isinstance(event, kind)]


def calls(program: Program, *ops: str) -> list[Call]:
    """Return the calls of these ops, or of all."""
    return [call for call in of(program, Call) if not ops or call.op in ops]


def leaf(*values: float) -> Any:
    return torch.tensor(list(values), requires_grad=True)
