"""Measure what a live view takes from a training that is recorded.

    python -m tests.benchmarks.bench_live [--steps N] [--nodes N]

A training step of 1,000 nodes runs under ``gradviz.record()``, in turns with and
without a view that follows it; each step is an update for the view. Messages are packed
and signed as a kernel does it. Time is that of all threads of the process: the view's
counts, other work on the machine does not. Exits with 1 where steps get more than 5 %
slower, memory grows, or the last state is wrong.
"""

from __future__ import annotations

import argparse
import gc
import math
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from jupyter_client.session import Session

import gradviz
from gradviz import ir, ir_columns
from gradviz.live import Delta, LiveFeed, Source

MOST = 1.05
TURN = 25  # steps
KEPT = 1.1  # memory at the end, to that after the first third


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


def measure(lib: Any, steps: int, nodes: int) -> dict[str, float]:
    """Run the steps; return times, what was sent, and how memory grew."""
    step, kernel = training(lib, nodes), Kernel()
    with gradviz.record(engine=lib.__name__, findings=False) as recorder:
        gate = Gate(recorder.source())
        feed = LiveFeed(kernel, gate, delay=0)
        feed.start()
        number, early, ratios, plain = 0, 0, list[float](), list[float]()
        while number < steps:
            took = dict[bool, float]()
            for is_live in (True, False) if len(ratios) % 2 else (False, True):
                gate.is_open = is_live
                began = time.process_time()
                for _ in range(TURN):
                    number += 1
                    step(number)
                took[is_live] = time.process_time() - began
            ratios.append(took[True] / took[False])
            plain.append(took[False] / TURN)
            if not early and number > steps / 3:
                early = resident()
        gate.is_open = True
        step(number + 1)
        expected = (number + 1) * math.sqrt(256)
        is_right = sends(kernel, expected, seconds=30)
        feed.close()
    late = resident()
    return {
        "nodes": kernel.snapshots[-1],
        "step_ms": 1000 * statistics.median(plain),
        "ratio": statistics.median(ratios),
        "deltas": feed.sent.deltas,
        "busy": feed.sent.busy_s,
        "kilobytes": feed.sent.nbytes / 1000 / max(1, feed.sent.deltas),
        "memory": late / early,
        "right": float(is_right),
    }


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
    import numpy as np

    from gradviz.live import FLOW_NUMBERS

    points = np.frombuffer(message[1][2], "<f4").reshape(-1, 1, len(FLOW_NUMBERS))
    return float(points[-1, 0, 0])


def resident() -> int:
    """Return the bytes of memory that this process holds."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def main() -> int:
    """Print one row per engine; return 1 where a figure is out of bounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--engine", choices=["gradtape", "torch"], action="append")
    options = parser.parse_args()
    is_bad = False
    print("| engine | nodes | step | live to not | deltas | each | memory | last |")
    print("|---|---|---|---|---|---|---|---|")
    for name in options.engine or ["gradtape", "torch"]:
        lib = __import__(name)
        found = measure(lib, options.steps, options.nodes)
        right = "right" if found["right"] else "WRONG"
        print(
            f"| {name} | {found['nodes']:.0f} | {found['step_ms']:.1f} ms "
            f"| {found['ratio']:.3f} | {found['deltas']:.0f} "
            f"| {found['kilobytes']:.0f} kB | {found['memory']:.2f} | {right} |",
            flush=True,
        )
        bounds = found["ratio"] > MOST, found["memory"] > KEPT, not found["right"]
        is_bad |= any(bounds)
    return int(is_bad)


if __name__ == "__main__":
    raise SystemExit(main())
