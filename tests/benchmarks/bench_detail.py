"""Measure what recording a long PyTorch run costs where most steps are seen in brief.

    python -m tests.benchmarks.bench_detail [--processes N] [--steps X] [--large]

Each workload runs in processes of its own that take turns: plain, recorded as
``gradviz run`` does by default, and in full detail. What counts is the CPU time of all
steps, the first ones included, as ratios; printed are the median and the extremes.
``--large`` adds a language model of 124 million parameters, and its memory.

Measured on two cores of a shared server, Python 3.11 and PyTorch 2.13, in three
processes: a loop over an LSTMCell x3.3 (x30 in full), MLP steps of 0.33 ms x2.2 (x17),
a transformer block x1.34 (x6.8), a policy that plays x3.4 (x17): above its bound.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from .bench_torch_log import block, mlp

Step = Callable[[], None]

MOST_TIMES = {"lstm_cell": 3.5, "mlp": 2.5, "block": 1.4, "play": 2.0, "gpt2": 1.2}
"""What the steps may take in times of plain ones."""

MOST_MEMORY = 1.1
"""What the large model may need, in times of a plain run."""

_STEPS = {"lstm_cell": 300, "mlp": 2_000, "block": 400, "play": 20, "gpt2": 12}
_HOW = ("plain", "auto", "full")


def lstm_cell(torch: Any) -> Step:
    """Build a step over 20 calls of an LSTMCell, with a loss at each."""
    nn = torch.nn
    cell, head = nn.LSTMCell(16, 32), nn.Linear(32, 4)
    optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()])

    def step() -> None:
        state, loss = (torch.zeros(8, 32), torch.zeros(8, 32)), 0
        for _ in range(20):
            state = cell(torch.randn(8, 16), state)
            target = torch.randint(0, 4, (8,))
            loss = loss + nn.functional.cross_entropy(head(state[0]), target)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[attr-defined]
        optimizer.step()

    return step


def play(torch: Any) -> Step:
    """Build a step of a policy that plays 256 moves and learns of them in 4 passes.

    What it plays in is NumPy's, as in libraries of reinforcement learning.
    """
    nn = torch.nn
    policy = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(policy.parameters())

    def step() -> None:
        seen, moves, place = [], [], np.zeros((1, 4))
        with torch.no_grad():
            for _ in range(256):
                state = torch.as_tensor(place, dtype=torch.float32)
                scores = policy(state).log_softmax(-1)
                move = torch.multinomial(scores.exp(), 1)
                place = place * 0.9 + move.cpu().numpy() - 0.5
                seen.append(state)
                moves.append(move)
        states, chosen = torch.cat(seen), torch.cat(moves)
        for part in range(4):
            rows = slice(64 * part, 64 * part + 64)
            scores = policy(states[rows]).log_softmax(-1)
            loss = -scores.gather(1, chosen[rows]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return step


def gpt2(torch: Any) -> Step:
    """Build a step of a model of GPT-2's size: 12 blocks, width 768, 50,257 words."""
    nn, functional = torch.nn, torch.nn.functional

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(50_257, 768), nn.Embedding(1024, 768)
            self.blocks = nn.ModuleList(
                nn.TransformerEncoderLayer(768, 12, 3072, 0.0, batch_first=True)
                for _ in range(12)
            )
            self.norm = nn.LayerNorm(768)

        def forward(self, tokens: Any) -> Any:
            x = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
            for each in self.blocks:
                x = each(x)
            return self.norm(x) @ self.words.weight.T

    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step() -> None:
        tokens = torch.randint(0, 50_257, (1, 129))
        scores = model(tokens[:, :-1]).flatten(0, 1)
        loss = functional.cross_entropy(scores, tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


_BUILD: dict[str, Callable[[Any], Step]] = {
    "lstm_cell": lstm_cell,
    "mlp": mlp,
    "block": block,
    "play": play,
    "gpt2": gpt2,
}


def run(name: str, how: str, steps: int) -> None:
    """Run the steps in this process; print CPU seconds and the peak of memory."""
    import torch

    import gradviz

    torch.set_num_threads(1)
    torch.manual_seed(0)
    step = _BUILD[name](torch)
    step()  # the first one pays for PyTorch's own preparations
    recording = nullcontext() if how == "plain" else gradviz.record(detail=how)  # type: ignore[arg-type]
    with recording:
        began = time.process_time()
        for _ in range(steps):
            step()
        seconds = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps([seconds, peak]))


def measure(name: str, steps: int, processes: int) -> dict[str, list[list[float]]]:
    """Return what each process took and needed, by setting; settings take turns."""
    found: dict[str, list[list[float]]] = {how: [] for how in _HOW}
    for _ in range(processes):
        for how in _HOW:
            command = [sys.executable, "-m", __spec__.name, "--run", name, how]
            out = subprocess.run(
                [*command, str(steps)], capture_output=True, text=True, check=True
            )
            found[how].append(json.loads(out.stdout))
    return found


def report(name: str, found: dict[str, list[list[float]]]) -> bool:
    """Print a line for each setting; return whether a bound was passed."""
    base = statistics.median(seconds for seconds, _ in found["plain"])
    memory = statistics.median(peak for _, peak in found["plain"])
    for how in _HOW[1:]:
        times = sorted(seconds / base for seconds, _ in found[how])
        more = statistics.median(peak for _, peak in found[how]) / memory
        middle = statistics.median(times)
        print(
            f"{name:10} {how:5} x{middle:.2f} ({times[0]:.2f} to {times[-1]:.2f}), "
            f"memory x{more:.2f}"
        )
        if how == "auto":
            heavy = name == "gpt2" and more > MOST_MEMORY
            over = middle > MOST_TIMES[name] or heavy
    return over


def main() -> int:
    """Print a line per workload and setting; return 1 over a bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--steps", type=float, default=1.0, help="times as many steps")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        run(options.run[0], options.run[1], int(options.run[2]))
        return 0
    names = [name for name in _BUILD if options.large or name != "gpt2"]
    over = [
        report(
            name, measure(name, int(_STEPS[name] * options.steps), options.processes)
        )
        for name in names
    ]
    return int(any(over))


if __name__ == "__main__":
    raise SystemExit(main())
