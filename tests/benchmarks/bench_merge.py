"""Measure what merging the files of many ranks costs, in time and memory.

    python -m tests.benchmarks.bench_merge [--ranks N] [--steps N] [--layers N]

One real training is watched, and its history is written once for each rank, with
gradients of its own and, for some, a planted difference; a second row is of recordings
with a graph (`gradviz run`). The command runs in a process of its own, whose time and
peak memory the system tells; the page is written too.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import gradtape as torch
import gradviz
from gradviz import ir
from tests.gradviz.analysis import planted_ranks as planted

PLANTED: Mapping[int, planted.Change | None] = {
    3: planted.other_weights,
    5: planted.other_loss,
    6: planted.no_gradient,
    7: planted.not_finite,
    8: planted.other_shape,
    9: None,
    10: planted.stopped(3, "ValueError: bad batch 7"),
    17: planted.other_weights,
}


def net_of(layers: int) -> torch.nn.Module:
    """Return a chain of small linear layers."""
    pairs = ((torch.nn.Linear(16, 16), torch.nn.Tanh()) for _ in range(layers))
    return torch.nn.Sequential(*(each for pair in pairs for each in pair))


def trained(net: torch.nn.Module, steps: int) -> None:
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        net(torch.randn(8, 16)).pow(2).mean().backward()
        optimizer.step()


def watched(layers: int, steps: int) -> ir.Snapshot:
    """Return the history that a watch keeps."""
    net = net_of(layers)
    with gradviz.watch(net, every=1, page=None, say=str) as seen:
        trained(net, steps)
    return seen.snapshot()


def recorded(layers: int, steps: int) -> ir.Snapshot:
    """Return a recording with the graphs of the last steps."""
    with gradviz.record() as recorder:
        trained(net_of(layers), steps)
    return recorder.snapshot()


def measure(name: str, whole: ir.Snapshot, ranks: int) -> str:
    """Return a line: the size of the files, the time and memory of the command."""
    with tempfile.TemporaryDirectory() as folder:
        files = planted.write_ranks(Path(folder), whole, ranks, PLANTED)
        nbytes = sum(file.stat().st_size for file in files)
        page = Path(folder) / "all.html"
        command = [sys.executable, "-m", "gradviz", "merge", *map(str, files)]
        began = time.perf_counter()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [*command, "-o", str(page)], capture_output=True, text=True, check=False
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took = time.perf_counter() - began
        assert done.returncode == 1, done.stderr
        assert "ranks 3 and 17: differs from step 12" in done.stdout
        size = page.stat().st_size
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peak = after.ru_maxrss / 1024  # of all children so far: the first is the smaller
    return (
        f"{name:<9} {ranks:4} files of {nbytes / len(files) / 1024:7.0f} KiB  "
        f"{took:6.1f} s  {spent:6.1f} s CPU  {peak:6.0f} MiB  "
        f"page {size / 2**20:5.1f} MiB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=256)
    parser.add_argument("--steps", type=int, default=64)
    parser.add_argument("--layers", type=int, default=12)
    options = parser.parse_args()
    rows: dict[str, Callable[[int, int], ir.Snapshot]] = {
        "watched": watched,
        "recorded": recorded,
    }
    for name, made in rows.items():
        whole = made(options.layers, options.steps)
        if name == "recorded":  # of one process, with no gradient after the average
            points = tuple(replace(p, weight_norm=1.0) for p in whole.flow)
            whole = replace(whole, flow=points)
        print(measure(name, whole, options.ranks), flush=True)


if __name__ == "__main__":
    main()
