"""A script whose every ``backward()`` is stepped through: ``gradviz run --step``."""

from __future__ import annotations

import importlib
import sys
import threading
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from gradviz.stepping.shell import interact
from gradviz.stepping.stepper import Stepper

_GIVEN_UP = "gradviz: the backward pass was given up, and the script ends here."
_NOT_STEPPED = (
    "gradviz: a backward pass with create_graph or inputs is not stepped through."
)


@contextmanager
def every_backward(engine: str) -> Generator[None, None, None]:
    """Let ``Tensor.backward`` of an engine ask for commands, in this thread only.

    ``detach`` lets the script run on without; giving a pass up ends the script.
    """
    library: Any = importlib.import_module(engine)
    original = library.Tensor.backward
    thread = threading.get_ident()
    attached = True

    def backward(
        self: Any,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        nonlocal attached
        special = create_graph or inputs is not None
        if not attached or special or threading.get_ident() != thread:
            if attached and special:
                print(_NOT_STEPPED, file=sys.stderr)
            original(self, gradient, retain_graph, create_graph, inputs)
            return
        frame = sys._getframe(1)
        stepper = Stepper(self, gradient, retain_graph=bool(retain_graph), frame=frame)
        attached = interact(stepper, sys.stdin, sys.stderr, in_script=True)
        if stepper.given_up:
            raise SystemExit(_GIVEN_UP)

    library.Tensor.backward = backward
    try:
        with _lines_remembered(library):
            yield
    finally:
        library.Tensor.backward = original


@contextmanager
def _lines_remembered(library: Any) -> Generator[None, None, None]:
    """Let PyTorch keep the line of each node, by anomaly mode; gradtape always does."""
    if library.__package__ != "torch":
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Anomaly Detection has been enabled")
        anomaly = library.autograd.set_detect_anomaly(True, check_nan=False)
    with anomaly:
        yield
