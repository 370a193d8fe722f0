"""A scheduler changes the learning rate of an optimizer that never steps.

What it does
    Finds schedulers that step while another optimizer steps their optimizer's
    parameters, and their own optimizer never does.

Why is this bad
    The schedule has no effect: the optimizer in use keeps the rate it was made with.

Example
    ::

        scheduler = StepLR(optimizer, 10)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

Use instead
    ::

        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        scheduler = StepLR(optimizer, 10)

When it stays quiet
    The scheduler's own optimizer steps at least once, or nobody steps its parameters.

References
    https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis.edits.training import scheduled_of
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._loop_helpers import moves, optimizer_words, schedules
from gradviz.program import History, ScheduleCall


@rule("GV624", "scheduler-of-another-optimizer", "warning")
def check(history: History) -> Iterator[Hit]:
    optimizers = history.program.optimizers
    for events in schedules(history).values():
        steps = [each for each in events if each.what == "step"]
        mine = optimizers.get(events[0].optimizer)
        if len(steps) < 2 or mine is None or mine.key in moves(history):
            continue
        for key, moved in moves(history).items():
            other = optimizers.get(key)
            if other and len(moved) > 1 and set(other.tensors) & set(mine.tensors):
                yield _hit(history, events[0], steps[0], key)
                break


def _hit(history: History, made: ScheduleCall, step: ScheduleCall, other: int) -> Hit:
    used = history.program.optimizers[other]
    mine = history.program.optimizers[made.optimizer]
    name = f"`{used.name}`" if used.name else "it"
    return Hit(
        f"The {made.kind} of {history.line(made.site)} changes the learning rate of "
        f"the {mine.kind} made in {history.line(mine.site)}, which never steps: the "
        f"parameters are stepped by {optimizer_words(history, other)}, whose rate no "
        "scheduler changes.",
        made.site,
        f"Make the scheduler from {name}, after that optimizer was made.",
        symptom=step.site,
        edit=scheduled_of(made.site, used.name) if used.made < made.index else None,
        related=(
            Related("optimizer that never steps", mine.site),
            Related("optimizer in use", used.site),
            Related("scheduler steps here", step.site),
        ),
    )
