"""Measure what recording a PyTorch program costs, beside PyTorch's anomaly mode.

    python -m tests.benchmarks.bench_torch_log [--threads N] [--scale X]

A training step of a small MLP, of one with a penalty on its slope, and of a transformer
block runs plain, recorded without and with a look at values, and in anomaly mode; the
settings take turns. Time is the thread's own, so that other work on the machine counts
little.

Measured alone, Python 3.11 and PyTorch 2.13, on a Xeon of Sapphire Rapids: recorded, an
MLP step of 260 us takes x1.73 to x1.90, from process to process (an empty function mode
alone takes x1.5), a block of 4 ms x1.16 to x1.21 (x1.07); anomaly mode x5.5 and x2.8.
A step with a penalty takes x1.95 to x2.09 on a busy EPYC, x3.5 to x4.5 when the graph
of its derivative was read at each pass.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from gradviz._capture.adapters.pytorch.log import TorchLog

STEPS = 60  # of one turn
WARM_UP = 20  # steps before: the first passes are looked at more closely


def mlp(torch: Any) -> Callable[[], None]:
    """Three linear layers, 32 rows."""
    nn = torch.nn
    net = nn.Sequential(
        nn.Linear(64, 128),
        nn.ReLU(),
        nn.Linear(128, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    )
    x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    loss = nn.CrossEntropyLoss()
    return lambda: _step(optimizer, lambda: loss(net(x), y))


def block(torch: Any) -> Callable[[], None]:
    """One transformer block in own code: 128 wide, 4 heads, 64 tokens, batch of 4."""
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(128), nn.LayerNorm(128)
            self.qkv, self.out = nn.Linear(128, 384), nn.Linear(128, 128)
            self.up, self.down = nn.Linear(128, 512), nn.Linear(512, 128)

        def attend(self, x: Any) -> Any:
            parts = self.qkv(self.norm1(x)).chunk(3, dim=-1)
            q, k, v = (p.view(4, 64, 4, 32).transpose(1, 2) for p in parts)
            weights = (q @ k.transpose(-2, -1) / 32**0.5).softmax(dim=-1)
            return self.out((weights @ v).transpose(1, 2).reshape(4, 64, 128))

        def forward(self, x: Any) -> Any:
            x = x + self.attend(x)
            return x + self.down(functional.gelu(self.up(self.norm2(x))))

    net = Block()
    x = torch.randn(4, 64, 128)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    return lambda: _step(optimizer, lambda: net(x).pow(2).mean())


def slope(torch: Any) -> Callable[[], None]:
    """The MLP under a penalty on its slope: a pass through the graph of another."""
    nn = torch.nn
    net = nn.Sequential(
        nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1)
    )
    x = torch.randn(32, 2, requires_grad=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)

    def loss() -> Any:
        (slope,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
        return (slope.norm(dim=1) - 1).pow(2).mean()

    return lambda: _step(optimizer, loss)


def _step(optimizer: Any, loss: Callable[[], Any]) -> None:
    optimizer.zero_grad()
    loss().backward()
    optimizer.step()


def settings(torch: Any) -> dict[str, Callable[[], AbstractContextManager[Any]]]:
    """Return what the steps run under, by name."""
    return {
        "plain": nullcontext,
        "recorded": lambda: TorchLog(scan=False),
        "with values": lambda: TorchLog(scan=True),
        "anomaly mode": lambda: torch.autograd.set_detect_anomaly(True),
    }


def measure(
    step: Callable[[], None], under: dict[str, Any], rounds: int
) -> dict[str, float]:
    """Return median microseconds of a step by setting."""
    taken: dict[str, list[float]] = {name: [] for name in under}
    for turn in range(rounds + 1):
        for name, setting in under.items():
            with setting():
                for _ in range(WARM_UP):
                    step()
                for _ in range(STEPS):
                    begin = time.thread_time()
                    step()
                    if turn:  # the first one warms up
                        taken[name].append(time.thread_time() - begin)
    return {name: 1e6 * statistics.median(each) for name, each in taken.items()}


def report(threads: int, scale: float) -> None:
    """Print a line per model and setting."""
    import torch

    torch.set_num_threads(threads)
    for build in (mlp, slope, block):
        torch.manual_seed(0)
        found = measure(build(torch), settings(torch), max(2, int(10 * scale)))
        for name, micros in found.items():
            ratio = micros / found["plain"]
            print(f"{build.__name__:6} {name:14} {micros:10.1f} us  x{ratio:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1.0, help="more or fewer rounds")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report(options.threads, options.scale)


if __name__ == "__main__":
    main()
