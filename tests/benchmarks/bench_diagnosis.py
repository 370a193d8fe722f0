"""Measure how the time to find what is wrong grows with the length of a training.

    python -m tests.benchmarks.bench_diagnosis [--steps N] [LOOP ...]

Loops of different kinds run N and four times N steps on gradtape, recorded without a
look at values. For each, how long all rules took, and the rules that took more than
their share: a time that grows as the events do is x1.0, one that grows with their
square x4.0. The first rule to ask for an index pays for it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import gradtape as t
from gradviz._capture.adapters.gradtape.log import GradtapeLog
from gradviz.diagnosis.rules import all_rules
from gradviz.program.history import History
from gradviz.program.records import Program

TIMES = 4  # as many steps in the longer run
NOTED = 0.1  # seconds from which a rule is worth a line
BOUND = 2.0  # of the growth per event


def classifier(steps: int) -> None:
    """Clip, step, schedule and keep the losses; evaluate after every step."""
    nn = t.nn
    net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Dropout(0.1), nn.Linear(16, 4))
    optimizer = t.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    schedule = t.optim.lr_scheduler.StepLR(optimizer, 10)
    x, y = t.randn(32, 8), t.randint(0, 4, (32,))
    losses: list[Any] = []
    for _ in range(steps):
        loss = nn.functional.cross_entropy(net.train()(x), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        with t.no_grad():
            losses.append(nn.functional.cross_entropy(net.eval()(x), y))


def by_hand(steps: int) -> None:
    """Update without an optimizer, with a moving average of the weights."""
    w, average = t.randn(8, 4, requires_grad=True), t.zeros(8, 4)
    x, y = t.randn(32, 8), t.randint(0, 4, (32,))
    for _ in range(steps):
        t.nn.functional.cross_entropy(x @ w, y).backward()
        with t.no_grad():
            w -= 0.1 * w.grad
            w.grad.zero_()
            average.mul_(0.9).add_(w, alpha=0.1)


def recurrent(steps: int) -> None:
    """Carry a detached state from step to step."""
    cell, head = t.nn.LSTMCell(4, 8), t.nn.Linear(8, 1)
    optimizer = t.optim.Adam([*cell.parameters(), *head.parameters()])
    state = t.zeros(2, 8), t.zeros(2, 8)
    for _ in range(steps):
        state = tuple(each.detach() for each in state)
        loss = t.zeros(())
        for _ in range(3):
            state = cell(t.randn(2, 4), state)
            loss = loss + head(state[0]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def policy(steps: int) -> None:
    """Stack the log-probabilities of ten actions to a loss."""
    actor = t.nn.Linear(4, 2)
    optimizer = t.optim.Adam(actor.parameters())
    for _ in range(steps):
        chosen: list[Any] = []
        rewards: list[float] = []
        for _ in range(10):
            actions = t.distributions.Categorical(logits=actor(t.randn(4)))
            action = actions.sample()
            chosen.append(actions.log_prob(action))
            rewards.append(float(action))
        loss = -(t.stack(chosen) * t.tensor(rewards)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def views(steps: int) -> None:
    """Fill a buffer through a view of each row, and make a root of the rows."""
    weight, buffer = t.randn(4, requires_grad=True), t.zeros(steps, 4)
    rows = [buffer[row] for row in range(steps)]
    with t.no_grad():
        for number, row in enumerate(rows):
            row.copy_(weight * float(number))
    t.stack([row.sum() for row in rows]).sum().requires_grad_().backward()


LOOPS: dict[str, Callable[[int], None]] = {
    each.__name__: each for each in (classifier, by_hand, recurrent, policy, views)
}


def judged(program: Program) -> tuple[int, dict[str, float]]:
    """Return how many events there are, and the seconds of each rule."""
    history = History(program)
    taken: dict[str, float] = {}
    for rule in all_rules():
        begin = time.thread_time()
        list(rule.check(history))
        taken[rule.code] = time.thread_time() - begin
    return len(history.events), taken


def growth(loop: Callable[[int], None], steps: int) -> tuple[str, dict[str, float]]:
    """Return a line about the longer run, and the growth of the rules worth one."""
    found: list[tuple[int, dict[str, float]]] = []
    for number in (steps, TIMES * steps):
        with GradtapeLog(scan=False) as log:
            loop(number)
        found.append(judged(log.program))
    (few, before), (many, after) = found
    total = sum(after.values())
    per_event = total / sum(before.values()) * few / many
    line = f"{many:7,} events {total:6.2f} s  x{per_event:.2f}"
    noted = {
        code: seconds / max(before[code], 1e-4) * few / many
        for code, seconds in after.items()
        if seconds > NOTED
    }
    return line, noted


def main() -> int:
    """Print a line for each loop; return 1 where all rules together grow too fast."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("loops", nargs="*", metavar="LOOP", help=", ".join(LOOPS))
    options = parser.parse_args()
    over = False
    for name in options.loops or LOOPS:
        line, noted = growth(LOOPS[name], options.steps)
        slow = [f"{code} x{ratio:.1f}" for code, ratio in noted.items()]
        print(f"{name:10} {line}  {', '.join(slow)}", flush=True)
        over |= float(line.rpartition("x")[2]) > BOUND
    return int(over)


if __name__ == "__main__":
    raise SystemExit(main())
