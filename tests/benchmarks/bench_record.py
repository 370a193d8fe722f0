"""Measure what a recording costs a training step: graph, findings, both; with values.

    python -m tests.benchmarks.bench_record [--rounds N]

The model is so small (16-32-32-1, 8 samples) that hardly more than the cost per op is
left. Steps with and without a recording take turns in one process, and what counts is
the time of this thread, as ratios: machines differ.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from typing import Any

from .bench_program_log import Step, timed

RECORDINGS: dict[str, dict[str, bool]] = {
    "graph and findings": {},
    "graph alone": {"findings": False},
    "findings alone": {"graph": False},
    "graph and findings, no values": {"values": False},
    "graph alone, no values": {"values": False, "findings": False},
    "findings alone, no values": {"values": False, "graph": False},
}

MOST_TIMES = {"graph and findings": 10.0, "graph and findings, no values": 3.3}
"""What a step may take while it is recorded, in times of one that is not."""

MOST_TOGETHER = 1.15
"""What both may take, in times of the dearer of graph alone and findings alone."""


def perceptron(t: Any) -> Step:
    """Build a step of the small model."""
    nn = t.nn
    layers = nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU()
    net = nn.Sequential(*layers, nn.Linear(32, 1))
    optimizer = t.optim.SGD(net.parameters(), lr=0.01)
    x, y = t.randn(8, 16), t.randn(8, 1)

    def step() -> Any:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def compare(
    step: Step, record: Callable[..., Any], rounds: int
) -> tuple[float, dict[str, float]]:
    """Return the median seconds of a plain step, and the ratio of each recording."""
    plain: list[float] = []
    taken: dict[str, list[float]] = {name: [] for name in RECORDINGS}
    timed(step, 50)
    for _ in range(rounds):
        for name, options in RECORDINGS.items():
            plain += timed(step, 20)
            with record(**options):
                timed(step, 10)  # the first steps find everything new
                taken[name] += timed(step, 20)
    base = statistics.median(plain)
    return base, {name: statistics.median(t) / base for name, t in taken.items()}


def main() -> int:
    """Print one line per recording; return 1 over a bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    import gradtape
    import gradviz

    base, times = compare(perceptron(gradtape), gradviz.record, options.rounds)
    print(f"gradtape {base * 1e6:.0f} us a plain step")
    for name, ratio in times.items():
        print(f"{name:30} x{ratio:.2f}")
    over = any(times[name] > most for name, most in MOST_TIMES.items())
    for values in ("", ", no values"):
        both = times[f"graph and findings{values}"]
        alone = max(times[f"graph alone{values}"], times[f"findings alone{values}"])
        print(f"both, of the dearer{values:11} x{both / alone:.2f}")
        over |= both > MOST_TOGETHER * alone
    return int(over)


if __name__ == "__main__":
    raise SystemExit(main())
