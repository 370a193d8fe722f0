"""Live views: a page follows what runs in the kernel, which never waits for it.

A thread of ours looks at the source twenty times a second at most. It sends a whole
snapshot where the graph has changed, and otherwise a delta: numbers that replace those
of the snapshot that the page has. A delta stands for itself, so one that gets lost or
comes late does no harm: it names the snapshot that it belongs to and has a number.
"""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gradviz import ir
from gradviz.threads import started, thread_time

PERIOD_S = 0.05
"""The least time between two looks at the source."""

SHARE = 0.02
"""How much of its processor time a live view may take from the code that runs."""

FIRST_PAUSE_S = 0.5
"""The pause after the first look, much of which is never done again: imports, the code
of the view. A page that moves says that it lives."""

LEAST_LOAD = 0.25
"""Where the code that runs has less of a processor, it is taken to wait."""

BYTES_PER_S = 4_000_000
"""What a slow connection takes without a growing queue."""

STATISTICS = ("norm", "minimum", "maximum", "mean", "std", "zeros", "nans", "infs")
"""The columns of a delta; NaN where a number is not known."""

FLOW_NUMBERS = ("norm", "largest", "zeros", "nans", "infs")
FLOW_POINTS = 1_000
"""Points of the last steps of the flow in each delta; a whole snapshot has all."""

MOST_FAILURES = 20
"""Looks in a row that may fail before a feed gives up."""

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class FlowTail:
    """The last steps of the gradient flow, over the layers of the sent snapshot."""

    numbers: list[int]  # of the steps
    times_ns: list[int]
    stepped: list[bool]
    points: Floats  # steps x layers x FLOW_NUMBERS; zeros is NaN where no point is
    histograms: Floats  # layers x (low, high, bins...), of the last step


@dataclass(frozen=True, slots=True)
class Delta:
    """What replaces the statistics of the snapshot that was sent."""

    statistics: int  # how many that snapshot has
    rows: NDArray[np.uint32]  # of its table of statistics
    values: Floats  # rows x STATISTICS
    flow: FlowTail | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the code is that runs."""

    steps: int
    loss: float | None = None  # of the last one; None: not known without waiting


class Source(Protocol):
    """What a live view follows. All but ``version`` runs in the thread of the feed."""

    def version(self) -> int:
        """Return a number that changes with what there is to see; 0: nothing yet.

        What has to be done for everything that happened, however seldom anyone looks,
        is done here: pauses between looks would not make it less.
        """
        ...

    def full(self) -> ir.Snapshot:
        """Return what there is to see now; later deltas are about this snapshot."""
        ...

    def delta(self) -> Delta | None:
        """Return what changed since ``full``; None where the graph did."""
        ...

    def progress(self) -> Progress | None:
        """Return how far the code is; None where that is not told apart."""
        ...


class View(Protocol):
    """Where a feed sends to: a widget."""

    def replace(self, snapshot: ir.Snapshot) -> int:
        """Show another snapshot; return the number of this revision."""
        ...

    def send_live(self, content: dict[str, Any], buffers: Sequence[bytes]) -> None:
        """Send a message to the pages that show the view, if there are any."""
        ...


@dataclass(slots=True)
class Sent:
    """What a feed has sent so far."""

    snapshots: int = 0
    deltas: int = 0
    nbytes: int = 0
    busy_s: float = 0.0
    failures: list[str] = field(default_factory=list[str])


class Load:
    """Tells how much of one processor this process has had since it last told."""

    def __init__(self) -> None:
        self._since = time.perf_counter(), time.process_time()

    def __call__(self) -> float:
        """Return a share from ``LEAST_LOAD`` to 1."""
        then, used = self._since
        self._since = now, all_used = time.perf_counter(), time.process_time()
        load = (all_used - used) / max(now - then, 1e-9)
        return min(1.0, max(LEAST_LOAD, load))


class LiveFeed:
    """Keeps one view in step with one source until it is closed.

    The first look comes after ``delay`` seconds. ``clock`` tells the processor time of
    the calling thread, and ``load`` what share of a processor the process gets: beside
    other work on the machine less runs between two looks.
    """

    def __init__(
        self,
        view: View,
        source: Source,
        *,
        delay: float = PERIOD_S,
        clock: Callable[[], float] = thread_time,
        load: Callable[[], float] | None = None,
    ) -> None:
        self.sent = Sent()
        self._view = view
        self._source = source
        self._clock = clock
        self._load = Load() if load is None else load
        self._delay = delay
        self._seen: int | None = None
        self._revision: int | None = None
        self._number = 0
        self._stop = threading.Event()
        # Messages belong to the cell that runs now, also those of the thread.
        context = contextvars.copy_context()
        self._thread = threading.Thread(
            target=context.run, args=(self._run,), name="gradviz-live", daemon=True
        )

    def start(self) -> None:
        """Begin to follow; where there are no threads, the last state alone is sent."""
        started(self._thread)

    def close(self) -> None:
        """Stop to follow; whoever closes it sends the last state."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def join(self, timeout: float) -> None:
        """Wait until the thread has ended by itself."""
        if self._thread.is_alive():
            self._thread.join(timeout)

    def _run(self) -> None:
        pause, failed = self._delay, 0
        while failed < MOST_FAILURES and not self._stop.wait(pause):
            try:
                pause = self.look()
                failed = 0
            except Exception as error:  # the source changed meanwhile: look again
                failed += 1
                self.sent.failures.append(f"{type(error).__name__}: {error}")

    def look(self) -> float:
        """Send what is new, if anything; return how long to pause then, in seconds."""
        version = self._source.version()
        if version in (0, self._seen):
            return PERIOD_S
        begun, is_first = self._clock(), self._revision is None
        size = self._send()
        progress = self._source.progress()
        if progress is not None:
            self._view.send_live({"progress": told(progress)}, [])
        self._seen = version
        busy = self._clock() - begun
        self.sent.nbytes += size
        self.sent.busy_s += busy
        if is_first:
            return FIRST_PAUSE_S
        return max(PERIOD_S, busy / SHARE / self._load(), size / BYTES_PER_S)

    def _send(self) -> int:
        delta = None if self._revision is None else self._source.delta()
        if delta is None:
            self._revision = self._view.replace(self._source.full())
            self.sent.snapshots += 1
            return 0
        self._number += 1
        content, buffers = encode(delta)
        content |= {"revision": self._revision, "number": self._number}
        self._view.send_live({"live": content}, buffers)
        self.sent.deltas += 1
        return sum(map(len, buffers))


def told(progress: Progress) -> dict[str, Any]:
    """Return progress as a message has it; JSON knows neither NaN nor Inf."""
    loss = progress.loss
    return {"steps": progress.steps, "loss": None if loss is None else str(loss)}


def encode(delta: Delta) -> tuple[dict[str, Any], list[bytes]]:
    """Return a delta as a message: a few words, and little-endian columns."""
    content: dict[str, Any] = {
        "rows": len(delta.rows),
        "statistics": delta.statistics,
    }
    buffers = [_bytes(delta.rows, "<u4"), _bytes(delta.values, "<f4")]
    flow = delta.flow
    if flow is not None:
        content["flow"] = {
            "numbers": flow.numbers,
            "times_ns": flow.times_ns,
            "stepped": flow.stepped,
        }
        buffers += [_bytes(flow.points, "<f4"), _bytes(flow.histograms, "<f4")]
    return content, buffers


def _bytes(array: NDArray[Any], dtype: str) -> bytes:
    return np.ascontiguousarray(array, dtype=dtype).tobytes()
