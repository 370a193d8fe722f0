"""Measure saving and loading a state dict, against PyTorch.

    python -m tests.benchmarks.bench_save [--megabytes N] [--tensors N] [--rounds N]

The engines take turns in one process, each writing and reading its own file, which the
system has in memory after the first round. The best of all rounds counts; ratios below
1 mean that gradtape is faster.
"""

from __future__ import annotations

import argparse
import importlib
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ENGINES = ("gradtape", "torch")
TASKS: dict[str, Callable[[Any, Any, Path], Any]] = {
    "save": lambda t, state, path: t.save(state, path),
    "save, old format": lambda t, state, path: t.save(
        state, path.with_suffix(".old"), _use_new_zipfile_serialization=False
    ),
    "load": lambda t, state, path: t.load(path),
    "load, weights_only=False": lambda t, state, path: t.load(path, weights_only=False),
    "load, mmap=True": lambda t, state, path: t.load(path, mmap=True),
    "load, old format": lambda t, state, path: t.load(path.with_suffix(".old")),
}


def state_of(t: Any, megabytes: int, tensors: int) -> dict[str, Any]:
    """Return a state dict of equal tensors and a small optimizer state for each."""
    count = megabytes * 2**20 // 4 // tensors
    return {
        "model": {f"layers.{i}.weight": t.ones(count) for i in range(tensors)},
        "optimizer": {
            "state": {i: {"step": t.tensor(3.0)} for i in range(tensors)},
            "param_groups": [{"lr": 0.1, "params": list(range(tensors))}],
        },
    }


def measure(megabytes: int, tensors: int, rounds: int) -> dict[str, dict[str, float]]:
    """Return the least seconds of every task, by engine."""
    modules = {name: importlib.import_module(name) for name in ENGINES}
    states = {name: state_of(t, megabytes, tensors) for name, t in modules.items()}
    best = {task: dict.fromkeys(ENGINES, float("inf")) for task in TASKS}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for task, run in TASKS.items():
                for name, t in modules.items():
                    path = Path(folder) / f"{name}.pt"
                    begin = time.perf_counter()
                    found = run(t, states[name], path)
                    taken = time.perf_counter() - begin
                    del found
                    best[task][name] = min(best[task][name], taken)
    return best


def report(megabytes: int, tensors: int, rounds: int) -> None:
    """Print one line per task."""
    print(f"{megabytes} MB in {tensors} tensors, best of {rounds}, milliseconds")
    print(f"{'':26}{'gradtape':>10}{'torch':>10}{'ratio':>8}")
    for task, best in measure(megabytes, tensors, rounds).items():
        ours, theirs = best["gradtape"], best["torch"]
        print(f"{task:26}{1e3 * ours:10.1f}{1e3 * theirs:10.1f}{ours / theirs:8.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--tensors", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    report(options.megabytes, options.tensors, options.rounds)


if __name__ == "__main__":
    main()
