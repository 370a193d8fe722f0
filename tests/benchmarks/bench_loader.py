"""Measure batches per second of the loader, against PyTorch's DataLoader.

    python -m tests.benchmarks.bench_loader [--scale X]

Both engines load the same samples in one process, taking turns: rows of a tensor,
numbers that Python makes, and images of 150 KB, which workers have to hand over.
Workers are started anew for every pass, as a loop over epochs does by default;
"kept" rows keep them (``persistent_workers``).
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
import warnings
from typing import Any

# Rows: what is loaded, samples, batch size.
CASES = (("rows", 4_096, 64), ("numbers", 4_096, 64), ("images", 256, 32))
WORKERS = (("0 workers", 0, False), ("2 workers", 2, False), ("2 kept", 2, True))


class Numbers:
    """Samples that are computed in Python."""

    def __len__(self) -> int:
        return 4_096

    def __getitem__(self, index: int) -> tuple[float, int]:
        return index * 0.5, index


def dataset(t: Any, name: str, samples: int) -> Any:
    """Return a dataset whose tensors belong to one engine."""
    if name == "numbers":
        return Numbers()
    shape = (samples, 3, 112, 112) if name == "images" else (samples, 32)
    return t.utils.data.TensorDataset(t.zeros(shape), t.arange(samples))


def seconds(loader: Any) -> float:
    """Return how long one pass takes."""
    begin = time.perf_counter()
    for _ in loader:
        pass
    return time.perf_counter() - begin


def measure(case: tuple[str, int, int], workers: int, kept: bool, rounds: int) -> Any:
    """Return the batches per second of both engines."""
    import torch

    import gradtape

    name, samples, batch_size = case
    loaders = {
        key: t.utils.data.DataLoader(
            dataset(t, name, samples),
            batch_size,
            shuffle=True,
            num_workers=workers,
            persistent_workers=kept,
        )
        for key, t in (("gradtape", gradtape), ("torch", torch))
    }
    taken: dict[str, list[float]] = {key: [] for key in loaders}
    for turn in range(rounds + 1):
        for key, loader in loaders.items():
            spent = seconds(loader)
            if turn:  # the first one warms up, and starts workers that are kept
                taken[key].append(spent)
    count = len(loaders["torch"])
    return {key: count / statistics.median(spent) for key, spent in taken.items()}


def report(scale: float) -> None:
    """Print a line per case and number of workers."""
    rounds = max(3, int(9 * scale))
    print("DataLoader, batches per second; ratio above 1: faster than PyTorch")
    print(f"{'':24}{'gradtape':>10}{'PyTorch':>10}{'ratio':>8}")
    for case in CASES:
        for title, workers, kept in WORKERS:
            found = measure(case, workers, kept, rounds)
            ours, theirs = found["gradtape"], found["torch"]
            row = f"{case[0]}, {title}"
            print(f"{row:24}{ours:10.0f}{theirs:10.0f}{ours / theirs:8.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="more or fewer rounds")
    options = parser.parse_args()
    if os.environ.get("OMP_NUM_THREADS") != "1":
        os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
        os.execv(sys.executable, [sys.executable, "-m", __spec__.name, *sys.argv[1:]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report(options.scale)


if __name__ == "__main__":
    main()
