"""Gradients that were to add up over several passes are cleared after each.

What it does
    Finds optimizers most of whose backward passes are cleared by ``zero_grad()`` before
    any step, reading or update used them, although the optimizer does step now and
    then.

Why is this bad
    Gradient accumulation clears once per step. Cleared in every turn, the step applies
    the last small batch alone, divided by the number of all: most of the work is
    thrown away, and the learning rate is in effect smaller.

Example
    ::

        for i, (x, y) in enumerate(batches):
            optimizer.zero_grad()
            (criterion(net(x), y) / 4).backward()
            if (i + 1) % 4 == 0:
                optimizer.step()

Use instead
    ::

        for i, (x, y) in enumerate(batches):
            (criterion(net(x), y) / 4).backward()
            if (i + 1) % 4 == 0:
                optimizer.step()
                optimizer.zero_grad()

When it stays quiet
    Where a pass serves another optimizer, its gradients are read, or a step is left out
    here and there.

References
    https://pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis.rule import Hit, Related, Rule
from gradviz.diagnosis.rules._gradients import by_hand, is_failed, read_gradients
from gradviz.diagnosis.rules._loop_helpers import moves, optimizer_words
from gradviz.program.events import Backward, OptimizerCall
from gradviz.program.history import History


def _check(history: History) -> Iterator[Hit]:
    used = by_hand(history) | read_gradients(history)
    for key, made in moves(history).items():
        optimizer = history.program.optimizers.get(key)
        mine = set() if optimizer is None else set(optimizer.tensors)
        if not mine or mine & used:
            continue
        steps = {each.site for each in made}  # one with a closure runs passes itself
        cleared = [
            row for row in _wasted(history, mine) if steps.isdisjoint(row[1].stack)
        ]
        if len(cleared) >= 2 and len(cleared) > len(made):
            event, first = cleared[0]
            yield Hit(
                f"`{history.text(event.site)}` clears the gradients of "
                f"{len(cleared)} passes before {optimizer_words(history, key)} steps: "
                f"its {len(made)} steps apply the last pass before each alone.",
                event.site,
                "Clear once per step: call `zero_grad()` right after `step()`.",
                symptom=made[0].site,
                related=(Related("computed here", first.site),),
                tensors=tuple(sorted(mine)),
                certainty=0.8,
            )


def _wasted(history: History, mine: set[int]) -> list[tuple[OptimizerCall, Backward]]:
    """Return each clearing with the pass before it, where that served nothing else."""
    found, fresh = list[tuple[OptimizerCall, Backward]](), None
    for event in history.program.events:
        if isinstance(event, Backward) and event.api == "backward":
            whole = not is_failed(event) and set(event.leaves) <= mine
            fresh = event if whole and event.leaves else None
        elif isinstance(event, OptimizerCall) and event.what != "init":
            tensors = {each.tensor for each in event.states}
            if fresh is None or not tensors & set(fresh.leaves):
                continue
            if event.what == "zero_grad":
                found.append((event, fresh))
            fresh = None
    return found


RULE = Rule("GV643", "gradients-cleared-unused", "warning", _check)
