"""Time gradtape against PyTorch on the same programs, interleaved in one process.

    python -m tests.benchmarks.bench_engine [--threads N] [--scale X] [--only TEXT]

gradtape records everything it always records: nodes, sites, layouts, versions, write
logs. PyTorch runs without any debugging. A ratio below 1 means gradtape is faster. The
last column shows the same step inside ``gradviz.record()``, with all statistics. After
``make compiled`` it is the compiled form that runs, unless ``GRADTAPE_PURE=1``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Step = Callable[[], tuple[float, float]]


@dataclass(frozen=True)
class Workload:
    """A training step, written once for both modules."""

    name: str
    build: Callable[[Any], Step]
    rounds: int  # how often each engine runs it, at the default setting


def chain(t: Any) -> Step:
    """1,000 multiplications and additions on one element."""
    x = t.tensor([1.0], requires_grad=True)
    scale, shift = t.tensor([1.0001]), t.tensor([0.0001])

    def step() -> tuple[float, float]:
        begin = time.perf_counter()
        y = x
        for _ in range(500):
            y = y * scale
            y = y + shift
        middle = time.perf_counter()
        y.backward()
        return middle - begin, time.perf_counter() - middle

    return step


def mlp(t: Any) -> Step:
    """784-512-512-10 with ReLU, batch 64, cross-entropy, SGD."""
    t.manual_seed(0)
    model = t.nn.Sequential(
        t.nn.Linear(784, 512),
        t.nn.ReLU(),
        t.nn.Linear(512, 512),
        t.nn.ReLU(),
        t.nn.Linear(512, 10),
    )
    return _training(t, model, t.randn(64, 784), t.optim.SGD)


def demo_cnn(t: Any) -> Step:
    """The network of ``gradviz demo``, batch 64, cross-entropy, Adam."""
    t.manual_seed(0)

    def block(inputs: int, outputs: int) -> list[Any]:
        return [
            t.nn.Conv2d(inputs, outputs, kernel_size=3, padding=1),
            t.nn.BatchNorm2d(outputs),
            t.nn.ReLU(),
            t.nn.MaxPool2d(2),
        ]

    model = t.nn.Sequential(
        *block(1, 16), *block(16, 32), t.nn.Flatten(), t.nn.Linear(128, 10)
    )
    return _training(t, model, t.randn(64, 1, 8, 8), t.optim.Adam)


def _training(t: Any, model: Any, images: Any, optimizer_type: Any) -> Step:
    labels = t.arange(64) % 10
    criterion = t.nn.CrossEntropyLoss()
    optimizer = optimizer_type(model.parameters(), lr=1e-3)

    def step() -> tuple[float, float]:
        begin = time.perf_counter()
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        middle = time.perf_counter()
        loss.backward()
        optimizer.step()
        return middle - begin, time.perf_counter() - middle

    return step


WORKLOADS = (
    Workload("chain, 1,000 ops on 1 element", chain, 200),
    Workload("MLP 784-512-512-10, batch 64", mlp, 100),
    Workload("demo CNN, batch 64", demo_cnn, 100),
)


def measure(workload: Workload, rounds: int) -> dict[str, Any]:
    """Run both engines in turn; return median seconds forward and backward."""
    import torch

    import gradtape
    import gradviz

    ours, theirs = workload.build(gradtape), workload.build(torch)
    for step in (ours, theirs) * 3:
        step()
    times: dict[str, list[tuple[float, float]]] = {"gradtape": [], "torch": []}
    for _ in range(rounds):
        times["gradtape"].append(ours())
        times["torch"].append(theirs())
    recorded: list[float] = []
    for _ in range(max(3, rounds // 20)):
        with gradviz.record():
            recorded.append(sum(ours()))
    result: dict[str, Any] = {
        engine: [statistics.median(part) for part in zip(*taken, strict=True)]
        for engine, taken in times.items()
    }
    result["recorded"] = statistics.median(recorded)
    return result


def report(workloads: Sequence[Workload], threads: int, scale: float) -> None:
    """Print one line per workload."""
    import torch

    from gradtape._common.compiled import is_any

    torch.set_num_threads(threads)
    print(f"gradtape is {'compiled' if is_any() else 'plain Python'}. ", end="")
    print(f"Training steps, {threads} thread(s); median ms forward + backward and step")
    head = f"{'':34}{'gradtape':>16}{'PyTorch':>16}{'ratio':>8}{'recorded':>11}"
    print(head)
    if "OPENBLAS_CORETYPE" in os.environ:  # may halve the speed of NumPy's products
        print(f"(with OPENBLAS_CORETYPE={os.environ['OPENBLAS_CORETYPE']})")
    for workload in workloads:
        found = measure(workload, max(5, int(workload.rounds * scale)))
        ours, theirs = found["gradtape"], found["torch"]
        print(
            f"{workload.name:34}{_pair(ours):>16}{_pair(theirs):>16}"
            f"{sum(ours) / sum(theirs):8.2f}{found['recorded'] / sum(theirs):10.2f}x"
        )


def _pair(seconds: list[float]) -> str:
    return " + ".join(f"{1e3 * each:.2f}" for each in seconds)


def main(workloads: Sequence[Workload], description: str | None, name: str) -> None:
    """Run the workloads of the module ``name`` as its command line says."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1.0, help="more or fewer rounds")
    parser.add_argument("--only", default="", help="workloads with this in their name")
    options = parser.parse_args()
    # BLAS libraries read these when they load, so start over with them set.
    wanted = str(options.threads)
    if os.environ.get("OPENBLAS_NUM_THREADS") != wanted:
        os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = wanted
        os.execv(sys.executable, [sys.executable, "-m", name, *sys.argv[1:]])
    chosen = [each for each in workloads if options.only in each.name]
    report(chosen, options.threads, options.scale)


if __name__ == "__main__":
    main(WORKLOADS, __doc__, __spec__.name)
