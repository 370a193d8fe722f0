"""Gradients are computed and cleared again and again, and no optimizer steps.

What it does
    Finds optimizers whose gradients are cleared after at least two passes, in a run
    without a single step.

Why is this bad
    Nothing is trained. ``optimizer.step`` without parentheses does not step either,
    nor does ``scheduler.step()``, and neither says a word.

Example
    ::

        optimizer.zero_grad()
        loss.backward()
        scheduler.step()

Use instead
    ::

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()

When it stays quiet
    Any optimizer or gradient scaler steps, or the program reads the gradients or
    updates the parameters itself.

References
    https://pytorch.org/docs/stable/optim.html#taking-an-optimization-step
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis.edits.statements import called_at
from gradviz.diagnosis.edits.training import beside_pass
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import by_hand
from gradviz.diagnosis.rules._loop_helpers import (
    moves,
    or_uncalled,
    read_gradients,
    wasted_passes,
)
from gradviz.program import Backward, History, Optimizer, ScheduleCall


@rule("GV622", "gradients-never-applied", "warning")
def check(history: History) -> Iterator[Hit]:
    if moves(history) or not history.backwards:
        return
    read = read_gradients(history)
    for optimizer in history.program.optimizers.values():
        mine = set(optimizer.tensors)
        if mine & read or mine & by_hand(history):
            continue
        # Where gradients are read, Module.zero_grad() may clear those of others.
        keys = (optimizer.key,) if read else (optimizer.key, 0)
        passes = wasted_passes(history, optimizer, keys)
        if len(passes) >= 2:
            yield _hit(history, optimizer, passes[0])


def _hit(history: History, optimizer: Optimizer, made: Backward) -> Hit:
    name = f"`{optimizer.name}`" if optimizer.name else f"the {optimizer.kind}"
    step = f"{optimizer.name or 'optimizer'}.step()"
    scheduled = [
        each
        for each in history.of(ScheduleCall)
        if each.what == "step" and each.optimizer == optimizer.key
    ]
    culprit = scheduled[0].site if scheduled else made.site
    only = (
        f" Only its scheduler steps (`{history.text(culprit)}`), which changes the "
        "learning rate and nothing else."
        if scheduled
        else ""
    )
    culprit, line, slip = or_uncalled(history, culprit, "step")
    return Hit(
        f"The gradients that {history.line(made.site)} computes are thrown away "
        f"unused, time after time: {name} never steps, and nothing is trained.{only}"
        f"{slip}",
        culprit,
        f"Call `{step}` after `backward()`, with its parentheses.",
        symptom=made.site,
        related=(
            Related("optimizer made here", optimizer.site),
            Related("gradients computed here", made.site),
        ),
        line=line,
        edit=called_at(culprit, line)
        if line is not None
        else beside_pass(made.site, optimizer.name, "step", after=True),
    )
