"""Measure what the program log costs a training step, and a pass beforehand per node.

    python -m tests.benchmarks.bench_program_log [--rounds N] [--scan]

Steps with and without the log take turns in one process. The log does not look at
values unless ``--scan`` is given. Every node is looked at before a pass; the last line
says what that costs each of them.

The log costs a call about the same whatever its size, so each model comes twice: in the
size of the other benchmarks, and so small that hardly anything but the cost per call is
left. The bounds are for both.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

from .bench_engine import mlp
from .bench_models import transformer_block

Step = Callable[[], Any]

MOST_TIMES = {"mlp": 1.3, "small_mlp": 1.3, "block": 1.1, "small_block": 1.1}
"""What a step with the log may take, in times without it."""

MOST_PER_NODE_US = 2.0


def small_mlp(t: Any) -> Step:
    """Build a step of a small classifier, whose ops are as short as ops get."""
    nn = t.nn
    first, second, last = nn.Linear(64, 128), nn.Linear(128, 128), nn.Linear(128, 10)
    net = nn.Sequential(first, nn.ReLU(), second, nn.ReLU(), last)
    optimizer = t.optim.SGD(net.parameters(), lr=0.01)
    x, y = t.randn(32, 64), t.randint(0, 10, (32,))

    def step() -> Any:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def small_block(t: Any) -> Step:
    """Build a step of a transformer block: width 128, 4 heads, 4 times 64 tokens."""
    nn = t.nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.LayerNorm(128), nn.LayerNorm(128)
            self.heads, self.out = nn.Linear(128, 384), nn.Linear(128, 128)
            self.wide = nn.Sequential(
                nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 128)
            )

        def forward(self, x: Any) -> Any:
            parts = self.heads(self.first(x)).chunk(3, -1)
            q, k, v = [each.view(4, 64, 4, 32).transpose(1, 2) for each in parts]
            weights = t.softmax(q @ k.transpose(-2, -1) / 32**0.5, dim=-1)
            mixed = (weights @ v).transpose(1, 2).reshape(4, 64, 128)
            x = x + self.out(mixed)
            return x + self.wide(self.second(x))

    net = Block()
    optimizer = t.optim.SGD(net.parameters(), lr=0.001)
    x = t.randn(4, 64, 128)

    def step() -> Any:
        optimizer.zero_grad()
        loss = net(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


def timed(step: Step, times: int) -> list[float]:
    """Return the seconds of this thread that each of some steps takes."""
    taken: list[float] = []
    for _ in range(times):
        begin = time.thread_time()
        step()
        taken.append(time.thread_time() - begin)
    return taken


def compare(step: Step, log: Callable[[], Any], rounds: int) -> tuple[float, float]:
    """Return the median seconds of a step without and with a log, in turns."""
    plain: list[float] = []
    logged: list[float] = []
    for _ in range(rounds):
        timed(step, 3)
        plain += timed(step, 20)
        with log():
            timed(step, 10)  # the first steps of a log find everything new
            logged += timed(step, 20)
    return statistics.median(plain), statistics.median(logged)


def per_node(t: Any, log: Callable[[], Any], rounds: int) -> float:
    """Return the microseconds per node of looking at a graph before its pass."""
    count = 2_000
    taken: list[float] = []
    with log() as open_log:
        for _ in range(rounds):
            x = t.ones(4, requires_grad=True)
            y = x
            for _ in range(count):
                y = y * 1.0001
            root = y.sum()
            begin = time.thread_time()
            open_log.passes.begin("backward", {"tensors": [root]})
            taken.append(time.thread_time() - begin)
    return statistics.median(taken) / count * 1e6


def main() -> int:
    """Print one line per model and one for a node; return 1 over a bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--scan", action="store_true")
    options = parser.parse_args()
    import gradtape
    from gradviz._capture.adapters.gradtape.log import GradtapeLog

    def log() -> Any:
        return GradtapeLog(scan=options.scan)

    over = False
    models = {
        "mlp": mlp,
        "small_mlp": small_mlp,
        "block": transformer_block,
        "small_block": small_block,
    }
    for name, build in models.items():
        plain, logged = compare(build(gradtape), log, options.rounds)
        times = logged / plain
        over |= times > MOST_TIMES[name]
        print(
            f"gradtape {name:11} {plain * 1e6:7.0f} us a step, "
            f"{logged * 1e6:7.0f} us with the log: x{times:.2f}"
        )
    each = per_node(gradtape, log, 10)
    print(f"gradtape before a pass {each:.2f} us per node")
    return int((over or each > MOST_PER_NODE_US) and not options.scan)


if __name__ == "__main__":
    raise SystemExit(main())
