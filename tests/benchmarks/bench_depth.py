"""Measure what a very long graph costs: time and memory per node, against PyTorch.

    python -m tests.benchmarks.bench_depth [--ops N] [--rounds N]

Every run is a process of its own with the garbage collector on, as in a user's program,
and the engines take turns. Memory is what the process grew by while the graph was
built, divided by its nodes; in gradtape that includes each node's line of source. The
last part switches sites off in a copy of the generated code, to show what they cost.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

PAGE = os.sysconf("SC_PAGE_SIZE")

Link = Callable[[Any, Any], Any]

CHAINS: dict[str, Link] = {
    "y * w, w a parameter": lambda y, w: y * w,
    "y.sin()": lambda y, w: y.sin(),
    "y * 1.01": lambda y, w: y * 1.01,
}


def resident() -> int:
    """Return the bytes of this process that are in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * PAGE


def measure(engine: str, name: str, ops: int) -> dict[str, float]:
    """Build, differentiate and free one chain; return seconds and bytes per node."""
    t: Any = __import__(engine)
    link = CHAINS[name]
    x = t.ones(1, requires_grad=True)
    w = t.full((1,), 1.0000001, requires_grad=True)
    link(x, w).backward()  # what the first call sets up is not the graph's
    y = x
    before, start = resident(), time.perf_counter()
    for _ in range(ops):
        y = link(y, w)
    built, after = time.perf_counter(), resident()
    y.backward()
    done = time.perf_counter()
    collected = gc.isenabled()
    gc.disable()  # freeing must not need it
    middle = time.perf_counter()
    del y
    freed = time.perf_counter()
    assert collected
    return {
        "build": built - start,
        "backward": done - built,
        "free": freed - middle,
        "bytes": (after - before) / ops,
    }


def without_sites() -> None:
    """Make the operators anew, without the lines that record sites."""
    from gradtape._dispatch import pointwise
    from gradtape._graph.node import next_sequence_nr
    from gradtape._graph.output_layout import known_layouts, layout_of
    from gradtape.ops.tensor import operators

    def place(node: Any, result: Any, now: Any) -> None:
        node.seq = next_sequence_nr()
        node.scope = now.scope
        node.extra = None
        data = result._data
        try:
            node.layout = known_layouts[data.shape, data.strides, data.dtype]
        except KeyError:
            node.layout = layout_of(data)
        node.storage_ids = 0
        node.code = None
        node.lasti = 0
        result._grad_fn = node
        result._needs = True

    place.__globals__.update(
        next_sequence_nr=next_sequence_nr,
        known_layouts=known_layouts,
        layout_of=layout_of,
    )
    pointwise.place = place
    importlib.reload(operators)


def chain_seconds(sites: bool, rounds: int) -> float:
    """Return the median seconds of a 1,000-op chain, forward and backward."""
    if not sites:
        without_sites()
    import gradtape

    x = gradtape.tensor([1.0], requires_grad=True)
    scale, shift = gradtape.tensor([1.0001]), gradtape.tensor([0.0001])
    taken: list[float] = []
    for _ in range(rounds):
        begin = time.perf_counter()
        y = x
        for _ in range(500):
            y = y * scale
            y = y + shift
        y.backward()
        taken.append(time.perf_counter() - begin)
        assert y.grad_fn is not None
        assert (y.grad_fn.site is not None) is sites
    return statistics.median(taken)


def in_new_process(*arguments: str) -> Any:
    """Run one measurement in a fresh interpreter, one thread each."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    if arguments[0].startswith("--sites"):
        environment["GRADTAPE_PURE"] = "1"  # what takes its place is not compiled
    command = [sys.executable, "-m", "tests.benchmarks.bench_depth", *arguments]
    out = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment
    )
    return json.loads(out.stdout)


def report(ops: int, rounds: int) -> None:
    """Print one line per chain and engine, then what sites cost."""
    print(f"Chains of {ops:,} ops on one element, best of {rounds}, seconds")
    print(
        f"{'':40}{'build':>8}{'backward':>10}{'free':>7}{'ratio':>7}{'bytes/node':>12}"
    )
    for name in CHAINS:
        runs: dict[str, list[Any]] = {"gradtape": [], "torch": []}
        for _ in range(rounds):
            for engine, found in runs.items():
                found.append(in_new_process("--one", engine, name, f"--ops={ops}"))
        best = {
            engine: {key: min(run[key] for run in found) for key in found[0]}
            for engine, found in runs.items()
        }
        theirs = best["torch"]["build"] + best["torch"]["backward"]
        for engine, found in best.items():
            ratio = (found["build"] + found["backward"]) / theirs
            print(
                f"{name + ', ' + engine:40}{found['build']:8.2f}"
                f"{found['backward']:10.2f}{found['free']:7.2f}{ratio:7.2f}"
                f"{found['bytes']:12.0f}"
            )
    pairs = [
        (in_new_process("--sites=on"), in_new_process("--sites=off"))
        for _ in range(rounds)
    ]
    on, off = (min(part) for part in zip(*pairs, strict=True))
    print(
        f"chain of 1,000 ops: {1e3 * on:.2f} ms with sites, {1e3 * off:.2f} ms "
        f"without: {100 * (on / off - 1):+.0f} %"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ops", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--sites", choices=("on", "off"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        engine, name = options.one
        print(json.dumps(measure(engine, name, options.ops)))
    elif options.sites:
        print(json.dumps(chain_seconds(options.sites == "on", 100)))
    else:
        report(options.ops, options.rounds)


if __name__ == "__main__":
    main()
