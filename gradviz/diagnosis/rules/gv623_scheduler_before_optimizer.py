"""The scheduler steps before its optimizer does.

What it does
    Finds schedulers whose first step comes before the first step of their optimizer,
    in every iteration of a loop.

Why is this bad
    A scheduler sets its first rate as it is made. Stepping it first replaces that rate
    before anything has used it, and the whole schedule runs one iteration early.

Example
    ::

        for epoch in range(10):
            scheduler.step()
            train(net, optimizer)

Use instead
    ::

        for epoch in range(10):
            train(net, optimizer)
            scheduler.step()

When it stays quiet
    The optimizer steps first; the schedule is wound forward before the training, to go
    on where another run had ended; or the scheduler was made before the recording. A
    scheduler that watches a metric (``ReduceLROnPlateau``) may step when it likes.

References
    https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis.edits.statements import moved
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._loop_helpers import (
    moves,
    outpacing,
    rate_words,
    schedules,
)
from gradviz.program import Event, History, ScheduleCall


@rule("GV623", "scheduler-before-optimizer", "warning")
def check(history: History) -> Iterator[Hit]:
    for events in schedules(history).values():
        made, steps = events[0], events[1:]
        moved = moves(history).get(made.optimizer, [])
        if made.what != "init" or made.kind == "ReduceLROnPlateau":
            continue
        if not steps or not moved or steps[0].index > moved[0].index:
            continue
        if not history.is_whole(made.index, moved[0].index):
            continue
        early = [each for each in steps if each.index < moved[0].index]
        often = outpacing(history, steps)
        if often and not all(any(each.rates) for each in steps):
            continue  # GV625 tells of the rate that it comes to
        again = any(each.site == early[0].site for each in steps[len(early) :])
        if again or len(early) == 1:
            yield _hit(history, made, early[0], moved[0], again, often)


def _hit(
    history: History,
    made: ScheduleCall,
    early: ScheduleCall,
    move: Event,
    again: bool,
    often: str,
) -> Hit:
    first, then = rate_words(made.rates), rate_words(early.rates)
    effect = (
        f"its learning rate begins with {then}, and {first}, the first of the "
        "schedule, is never used"
        if first != then
        else "the schedule runs one iteration ahead of the training"
    )
    return Hit(
        f"`{history.text(early.site)}` {often}."
        if often
        else f"`{history.text(early.site)}` comes before {history.line(move.site)} "
        f"lets the optimizer step for the first time: {effect}.",
        early.site,
        "Step the scheduler once per step of the optimizer: behind "
        f"{history.line(move.site)}, in the same block."
        if often
        else "Step the scheduler after the optimizer, at the end of the iteration.",
        symptom=move.site,
        related=(
            Related("scheduler made here", made.site),
            Related("the optimizer steps here", move.site),
        ),
        severity="warning" if again else "info",
        edit=moved(early.site, move.site, after=True),
    )
