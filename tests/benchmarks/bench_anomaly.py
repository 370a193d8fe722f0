"""Measure what anomaly detection and the profiler cost, against PyTorch's own.

    python -m tests.benchmarks.bench_anomaly [--threads N] [--scale X]

Four settings of one chain of 1,000 ops take turns in one process: each engine plain,
and with anomaly detection on through forward and backward, looking for NaN. gradtape
records the user's whole stack with every node then, as PyTorch does. The profiler's
rows show what recording every op and node costs while it is on.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

SIZES = (1, 1_000, 100_000)  # elements; the check must not grow beside the work

Setting = Callable[[Any], AbstractContextManager[Any]]


def plain(t: Any) -> AbstractContextManager[Any]:
    """Neither of the two."""
    return nullcontext()


def anomaly(t: Any) -> AbstractContextManager[Any]:
    """Anomaly detection with the check for NaN."""
    return t.autograd.set_detect_anomaly(True)


def profiled(t: Any) -> AbstractContextManager[Any]:
    """The autograd profiler without any option."""
    return t.autograd.profiler.profile()


def chain(t: Any, elements: int) -> Callable[[], tuple[float, float]]:
    """Build the step: 1,000 multiplications and additions, then backward."""
    x = t.full((elements,), 1.0, requires_grad=True)
    scale, shift = t.full((elements,), 1.0001), t.full((elements,), 0.0001)
    incoming = t.full((elements,), 1.0)

    def step() -> tuple[float, float]:
        begin = time.perf_counter()
        y = x
        for _ in range(500):
            y = y * scale
            y = y + shift
        middle = time.perf_counter()
        y.backward(incoming)
        return middle - begin, time.perf_counter() - middle

    return step


def measure(
    elements: int, settings: tuple[Setting, ...], rounds: int
) -> dict[tuple[str, str], list[float]]:
    """Return median seconds forward and backward, by engine and setting."""
    import torch

    import gradtape

    engines = {"gradtape": gradtape, "torch": torch}
    steps = {name: chain(t, elements) for name, t in engines.items()}
    taken: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for turn in range(rounds + 2):
        for name, t in engines.items():
            # What runs second finds warmer caches, so they take turns in this too.
            for setting in settings[:: -1 if turn % 2 else 1]:
                with setting(t):
                    times = steps[name]()
                if turn >= 2:  # the first ones warm up
                    taken.setdefault((name, setting.__name__), []).append(times)
    return {
        key: [statistics.median(part) for part in zip(*each, strict=True)]
        for key, each in taken.items()
    }


def report(threads: int, scale: float) -> None:
    """Print a line per size for anomaly detection, and one for the profiler."""
    import torch

    torch.set_num_threads(threads)
    print(f"Chain of 1,000 ops, {threads} thread(s); median ms forward + backward")
    print(_row("", "gradtape", "with it", "ratio", "PyTorch", "with it", "ratio"))
    for elements in SIZES:
        rounds = max(3, int((60 if elements < 10_000 else 6) * scale))
        found = measure(elements, (plain, anomaly), rounds)
        _print(f"anomaly, {elements:,} elements", found, "anomaly")
    _print("profiler, 1 element", measure(1, (plain, profiled), 5), "profiled")


def _print(title: str, found: dict[tuple[str, str], list[float]], setting: str) -> None:
    cells = [title]
    for engine in ("gradtape", "torch"):
        off, on = found[engine, "plain"], found[engine, setting]
        cells += [_pair(off), _pair(on), f"{sum(on) / sum(off):.2f}"]
    print(_row(*cells))
    ours, theirs = found["gradtape", setting], found["torch", "plain"]
    print(f"{'':28}gradtape with it / plain PyTorch: {sum(ours) / sum(theirs):.2f}")


def _row(title: str, *cells: str) -> str:
    widths = (15, 15, 7) * 2
    return f"{title:28}" + "".join(
        f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)
    )


def _pair(seconds: list[float]) -> str:
    return " + ".join(f"{1e3 * each:.2f}" for each in seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1.0, help="more or fewer rounds")
    options = parser.parse_args()
    # BLAS libraries read these when they load, so start over with them set.
    wanted = str(options.threads)
    if os.environ.get("OPENBLAS_NUM_THREADS") != wanted:
        os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = wanted
        os.execv(sys.executable, [sys.executable, "-m", __spec__.name, *sys.argv[1:]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report(options.threads, options.scale)


if __name__ == "__main__":
    main()
