"""The two threads of a stepped pass: the engine's, which waits, and the commands'."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from gradviz.services import one_line
from gradviz.stepping.stop import Gradient, Stop

Until = Callable[[Stop], str]
"""Says why to stop at a node; "" goes on."""


STEP = "step"  # the reason that needs no words


class Abandoned(BaseException):
    """Unwinds the engine when the pass is given up."""


class Line:
    """What the two threads share: one of them runs, the other waits."""

    def __init__(self) -> None:
        self.go = threading.Semaphore(0)
        self.stopped = threading.Semaphore(0)
        self.until: Until = lambda stop: STEP
        self.given_up = False
        self.stop: Stop | None = None
        self.gradients: list[Any] = []  # incoming, live: to inspect and to replace
        self.done = 0
        self.passed: dict[int, tuple[Gradient | None, ...]] = {}
        self.error: BaseException | None = None

    def outcome(self) -> str:
        """Return how the pass ended, in a sentence."""
        if self.given_up:
            return "The pass was given up; every .grad is as it was."
        if self.error is not None:
            return f"The pass failed: {one_line(self.error)}"
        return f"The pass is over: {self.done} nodes ran."


def wait(line: Line, stop: Stop, gradients: Sequence[Any]) -> tuple[Any, ...] | None:
    """Let the commands go on, if this is a stop; return what they put in place."""
    if line.given_up:
        raise Abandoned
    reason = line.until(stop)
    if not reason:
        return None
    line.stop = replace(stop, reason="" if reason == STEP else reason)
    line.gradients = list(gradients)
    line.stopped.release()
    line.go.acquire()
    if line.given_up:
        raise Abandoned
    kept = line.gradients
    changed = any(a is not b for a, b in zip(kept, gradients, strict=True))
    return tuple(kept) if changed else None


def run(
    line: Line, handles: list[Any], loss: Any, gradient: Any, retain_graph: bool
) -> None:
    """Run the pass in its own thread, from the first command on."""
    line.go.acquire()
    try:
        if not line.given_up:
            loss.backward(gradient, retain_graph=retain_graph)
    except Abandoned:
        pass
    except BaseException as error:
        line.error = error
    finally:
        for handle in handles:
            handle.remove()
        line.stop = None
        line.stopped.release()


def give_up(line: Line, worker: threading.Thread) -> None:
    """Unwind the pass, wherever it waits, and end its thread."""
    line.given_up = True
    with warnings.catch_warnings():
        # In anomaly mode, PyTorch takes the unwinding for an error of the program.
        warnings.filterwarnings("ignore", "Error detected in")
        line.go.release()
        worker.join()
