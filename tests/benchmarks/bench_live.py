"""Measure what a live view takes from a training that is recorded.

    python -m tests.benchmarks.bench_live [--updates N] [--nodes N]

A training step of 1,000 nodes runs under ``gradviz.record()``, in short turns without a
view (A) and with one that follows it (B), in the order A B B A, B A A B; each step with
the view is an update for it. Messages are packed and signed as a kernel does it. Time
is that of all threads of the process: the view's counts, other work on the machine does
not.

The sums over all turns are compared, and the standard error comes from the differences
within the fours. What was there before is hidden from Python's collector: one full
search costs as much as several steps, and chance decides in whose turn it falls.
``feed`` is the share of its turns that the thread of the view counted itself.

Exits with 1 where steps get more than 5 % slower, memory grows, or the last state is
wrong.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jupyter_client.session import Session

import gradviz
from gradviz import ir
from gradviz.ir import columns as ir_columns
from gradviz.live import FLOW_NUMBERS, Delta, LiveFeed, Sent, Source

MOST = 1.05
TURN = 10  # steps
KEPT = 1.05  # memory at the end, to that after the first third


@dataclass(frozen=True)
class Found:
    """What one engine's training took, and what the view got to see."""

    nodes: int
    step_s: float  # without a view
    ratio: float
    error: float  # the standard error of the ratio
    updates: int  # steps with a view
    sent: Sent
    live_s: float  # of all turns with a view
    memory: float
    is_right: bool

    @property
    def is_bad(self) -> bool:
        """Whether a figure is out of bounds."""
        return self.ratio > MOST or self.memory > KEPT or not self.is_right


class Kernel:
    """A view that packs and signs each message, and then has sent it."""

    def __init__(self) -> None:
        self._session = Session(key=b"a key")
        self.snapshots: list[int] = []
        self.last: tuple[dict[str, Any], list[bytes]] | None = None

    def replace(self, snapshot: ir.Snapshot) -> int:
        self._pack({"state": {}}, [ir_columns.pack(snapshot)])
        self.snapshots.append(len(snapshot.nodes))
        return len(self.snapshots)

    def send_live(self, content: dict[str, Any], buffers: Sequence[bytes]) -> None:
        self._pack({"method": "custom", "content": content}, list(buffers))
        self.last = content["live"], list(buffers)

    def _pack(self, data: dict[str, Any], buffers: list[bytes]) -> None:
        content = {"comm_id": "0" * 32, "data": data}
        self._session.serialize(self._session.msg("comm_msg", content))
        b"".join(buffers)  # the socket copies them


class Gate:
    """A source that has nothing new to show while it is shut."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.is_open = True

    def version(self) -> int:
        return self._source.version() if self.is_open else 0

    def full(self) -> ir.Snapshot:
        return self._source.full()

    def delta(self) -> Delta | None:
        return self._source.delta()


def training(lib: Any, nodes: int) -> Callable[[int], None]:
    """Return a step of about so many nodes; the gradient of the weight is known."""
    width = 256
    weight = lib.ones(width, requires_grad=True)
    optimizer = lib.optim.SGD([weight], lr=0.0)
    layers = (nodes - 3) // 2

    def step(number: int) -> None:
        optimizer.zero_grad()
        hidden = weight * float(number)
        for _ in range(layers):
            hidden = (hidden * 1.0) + 0.0
        hidden.sum().backward()
        optimizer.step()

    return step


class Turns:
    """The time of turns with the view (B) and without (A), in fours."""

    def __init__(self) -> None:
        self.with_view: list[float] = []
        self.without: list[float] = []

    def order(self) -> tuple[bool, ...]:
        """Whether the view follows, in each turn of the next four."""
        is_odd = len(self.without) % 4 == 2
        return (True, False, False, True) if is_odd else (False, True, True, False)

    def add(self, is_live: bool, took_s: float) -> None:
        """Note how long a turn took."""
        (self.with_view if is_live else self.without).append(took_s)

    def ratio(self) -> tuple[float, float]:
        """Return the time with the view to that without, and its standard error."""
        live, plain = _pairs(self.with_view), _pairs(self.without)
        ratio = sum(live) / sum(plain)
        rest = [a - ratio * b for a, b in zip(live, plain, strict=True)]
        spread = math.sqrt(sum(each * each for each in rest) / max(1, len(rest) - 1))
        return ratio, spread / math.sqrt(len(rest)) / statistics.mean(plain)


def _pairs(turns: list[float]) -> list[float]:
    """Add up the two turns of each four."""
    return [a + b for a, b in zip(turns[::2], turns[1::2], strict=True)]


def measure(lib: Any, updates: int, nodes: int) -> Found:
    """Run as many steps with a view as without, and compare them."""
    step, kernel, turns = training(lib, nodes), Kernel(), Turns()
    number, early = 0, 0
    gc.collect()
    gc.freeze()
    with gradviz.record(engine=lib.__name__, findings=False) as recorder:
        gate = Gate(recorder.source())
        feed = LiveFeed(kernel, gate, delay=0)
        feed.start()
        while number < 2 * updates:
            for is_live in turns.order():
                gate.is_open = is_live
                began = time.process_time()
                for _ in range(TURN):
                    number += 1
                    step(number)
                turns.add(is_live, time.process_time() - began)
            if not early and number > 2 * updates / 3:
                early = resident()
        late = resident()
        gate.is_open = True
        step(number + 1)
        is_right = sends(kernel, (number + 1) * math.sqrt(256), seconds=30)
        feed.close()
    gc.unfreeze()
    ratio, error = turns.ratio()
    return Found(
        nodes=kernel.snapshots[-1],
        step_s=sum(turns.without) / (TURN * len(turns.without)),
        ratio=ratio,
        error=error,
        updates=TURN * len(turns.with_view),
        sent=feed.sent,
        live_s=sum(turns.with_view),
        memory=late / early,
        is_right=is_right,
    )


def sends(kernel: Kernel, norm: float, seconds: float) -> bool:
    """Tell whether the last state arrives: after what was sent, the feed pauses."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if kernel.last is not None and last_norm(kernel.last) == norm:
            return True
        time.sleep(0.05)
    return False


def last_norm(message: tuple[dict[str, Any], list[bytes]]) -> float:
    """Return the norm of the weight's gradient in the last step of the flow."""
    points = np.frombuffer(message[1][2], "<f4").reshape(-1, 1, len(FLOW_NUMBERS))
    return float(points[-1, 0, 0])


def resident() -> int:
    """Return the bytes of memory that this process holds."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def row(name: str, found: Found) -> str:
    """Return the figures as a row of the table."""
    sent = found.sent
    cells = [
        name,
        f"{found.nodes}",
        f"{1000 * found.step_s:.1f} ms",
        f"{found.ratio:.3f} ± {found.error:.3f}",
        f"{100 * sent.busy_s / found.live_s:.1f} %",
        f"{found.updates}",
        f"{sent.deltas}",
        f"{sent.nbytes / 1000 / max(1, sent.deltas):.0f} kB",
        f"{found.memory:.3f}",
        "right" if found.is_right else "WRONG",
    ]
    return f"| {' | '.join(cells)} |"


HEAD = "| engine | nodes | step | live to not | feed | updates | deltas | each "
HEAD_OF_CHECKS = "| memory | last |"


def main() -> int:
    """Print one row per engine; return 1 where a figure is out of bounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=1000)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--engine", choices=["gradtape", "torch"], action="append")
    options = parser.parse_args()
    is_bad = False
    print(HEAD + HEAD_OF_CHECKS)
    print("|---" * 10 + "|")
    for name in options.engine or ["gradtape", "torch"]:
        found = measure(importlib.import_module(name), options.updates, options.nodes)
        print(row(name, found), flush=True)
        is_bad |= found.is_bad
    return int(is_bad)


if __name__ == "__main__":
    raise SystemExit(main())
