"""A scheduler changes the learning rate of an optimizer that never steps.

What it does
    Finds schedulers that step while another optimizer steps their optimizer's
    parameters, and their own optimizer never does, or does no more since the other
    one was made.

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
    The scheduler's own optimizer goes on stepping, the other one has a scheduler of its
    own, or nobody steps the parameters.

References
    https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis.edits.training import scheduled_of
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._lifetime import first_difference
from gradviz.diagnosis.rules._loop_helpers import (
    made_anew_at,
    moves,
    optimizer_words,
    schedules,
)
from gradviz.program import History, Optimizer, RawSite, ScheduleCall, following

_LEAST = 2  # steps of a scheduler that nobody uses


@rule("GV624", "scheduler-of-another-optimizer", "warning")
def check(history: History) -> Iterator[Hit]:
    optimizers = history.program.optimizers
    driven = {events[0].optimizer for events in schedules(history).values()}
    for events in schedules(history).values():
        steps = [each for each in events if each.what == "step"]
        mine = optimizers.get(events[0].optimizer)
        if mine is None:
            continue
        last = max((e.index for e in moves(history).get(mine.key, [])), default=-1)
        idle = following(steps, last)  # nobody steps with what these set
        for key, moved in moves(history).items():
            other = optimizers.get(key)
            if len(idle) < _LEAST or other is None or len(following(moved, last)) < 2:
                continue
            if set(other.tensors) & set(mine.tensors) and key not in driven:
                yield _hit(history, events[0], idle[0], key, last >= 0)
                break


def _apart(
    history: History, one: Optimizer, other: Optimizer
) -> tuple[RawSite | None, RawSite | None]:
    """Return the lines that two optimizers were made for: where their callers part."""
    first, second = history.at(one.made), history.at(other.made)
    if first is None or second is None:
        return one.site, other.site
    return first_difference(first, second), first_difference(second, first)


def _hit(
    history: History, made: ScheduleCall, step: ScheduleCall, other: int, stepped: bool
) -> Hit:
    used = history.program.optimizers[other]
    mine = history.program.optimizers[made.optimizer]
    name = f"`{used.name}`" if used.name else "it"
    renewed = stepped and used.made > made.index
    # A line that makes all parts by their names made the one in use just as well.
    apart = (each for each in made.frames if each != used.site)
    site = next(apart, made.site)
    direct = site == made.site and used.made < made.index
    words, where = optimizer_words(history, other), history.line(mine.site)
    if mine.site == used.site:  # one line makes all optimizers, for its callers
        where, line = (history.line(each) for each in _apart(history, mine, used))
        words = f"{name if used.name else f'the {used.kind}'} ({line})"
    return Hit(
        f"The {made.kind} of {history.line(site)} changes the learning rate of "
        f"an {mine.kind} of its own (made in {where}), which "
        f"{'steps no more' if stepped else 'never steps'}: the parameters are stepped "
        f"by {words}, whose rate no scheduler changes.",
        made_anew_at(history, mine, used) if renewed else site,
        "Make a new scheduler where the optimizer is made anew, or keep the optimizer "
        "and call `add_param_group()`."
        if renewed
        else f"Make the scheduler from {name}, after that optimizer was made.",
        symptom=step.site,
        edit=scheduled_of(made.site, used.name) if direct else None,
        related=(
            Related("optimizer of the scheduler", mine.site),
            Related("optimizer in use", used.site),
            Related("scheduler steps here", step.site),
        ),
    )
