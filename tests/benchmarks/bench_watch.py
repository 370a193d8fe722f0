"""Measure what watching a training costs, as a share of its steps.

    python -m tests.benchmarks.bench_watch [--threads N] [--scale X]

The steps of a small MLP and of a transformer block run plain and watched, in turns; of
a watched turn the first steps, which are looked at whatever it costs, are not counted.
Time is the thread's own, so that other work on the machine counts little, and it is a
mean, because looks are rare and dear. One look is measured by itself.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import time
from collections.abc import Callable, Iterable
from typing import Any

import gradviz
from gradviz.watching import Watch

FIRST_S, COUNTED_S = 0.4, 1.0  # of a turn


def mlp(torch: Any) -> tuple[Any, Callable[[], Any]]:
    """Three linear layers, 32 rows."""
    nn = torch.nn
    net = nn.Sequential(
        nn.Linear(64, 128),
        nn.ReLU(),
        nn.Linear(128, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    )
    x = torch.randn(32, 64)
    return net, lambda: net(x).pow(2).mean()


def block(torch: Any) -> tuple[Any, Callable[[], Any]]:
    """One transformer block: 128 wide, 4 heads, 64 tokens, a batch of 4."""
    net = torch.nn.TransformerEncoderLayer(
        128, 4, 512, dropout=0.0, batch_first=True, activation="gelu"
    )
    x = torch.randn(4, 64, 128)
    return net, lambda: net(x).pow(2).mean()


def micros(step: Callable[[], None], seconds: float) -> tuple[float, int]:
    """Return the mean time of a step, run for so long, and how many were run."""
    begin, count = time.thread_time(), 0
    while (spent := time.thread_time() - begin) < seconds:
        for _ in range(10):
            step()
        count += 10
    return 1e6 * spent / count, count


def watched(net: Any, **options: Any) -> Watch:
    """Return a watch that says and writes nothing."""
    return gradviz.watch(net, True, page=None, say=str, **options)


def measure(net: Any, step: Callable[[], None], rounds: int) -> Iterable[str]:
    """Yield a line for each setting, beside the plain steps of the same round."""
    plain: list[float] = []
    ratios: list[float] = []
    looks: list[float] = []
    every: list[float] = []
    micros(step, FIRST_S)
    for _ in range(rounds):
        before, _ = micros(step, COUNTED_S)
        with watched(net) as seen:
            micros(step, FIRST_S)
            first = seen.looks
            took, count = micros(step, COUNTED_S)
            looks.append((seen.looks - first) / count)
        after, _ = micros(step, COUNTED_S)
        with watched(net, every=1):
            micros(step, FIRST_S / 4)
            always, _ = micros(step, FIRST_S)
        own = (before + after) / 2
        plain.append(own)
        ratios.append(took / own)
        every.append(always - own)
    middle = statistics.median
    yield f"plain            {middle(plain):10.1f} us"
    rate = middle(looks)
    words = f"a look at 1 of {1 / rate:,.0f} steps" if rate else "no look"
    own = middle(plain) * middle(ratios)
    yield f"watched          {own:10.1f} us  x{middle(ratios):.3f}  {words}"
    yield f"one look         {middle(every):10.1f} us"


def report(threads: int, scale: float) -> None:
    """Print a few lines for each engine and model."""
    for engine in ("torch", "gradtape"):
        torch = importlib.import_module(engine)
        torch.set_num_threads(threads)
        for build in (mlp, block):
            torch.manual_seed(0)
            net, loss = build(torch)
            optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
            step = _step(optimizer, loss)
            print(f"{engine} {build.__name__}")
            print(*measure(net, step, max(1, round(5 * scale))), sep="\n")


def _step(optimizer: Any, loss: Callable[[], Any]) -> Callable[[], None]:
    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1.0, help="more or fewer rounds")
    options = parser.parse_args()
    report(options.threads, options.scale)


if __name__ == "__main__":
    main()
