"""A scheduler has set the learning rate to zero, and the optimizer goes on stepping.

What it does
    Finds at least three steps in a row that an optimizer takes while a scheduler has
    set all of its learning rates to exactly 0; and runs most of whose steps had a rate
    next to nothing, because a schedule that counts epochs was stepped with each batch.

Why is this bad
    Such steps change no parameter, and look like any other in a log.

Example
    ``LambdaLR(optimizer, lambda epoch: epoch / 10)``, stepped once per epoch: the
    whole first epoch is trained with a rate of 0.

Use instead
    ``LambdaLR(optimizer, lambda epoch: (epoch + 1) / 10)``

When it stays quiet
    One or two steps, as at the start of a warm-up that counts batches; a rate that the
    program itself gave to the optimizer.

References
    https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.diagnosis.decisions.arguments import in_brackets
from gradviz.diagnosis.decisions.bindings import returned
from gradviz.diagnosis.decisions.choice import choice, function_at
from gradviz.diagnosis.decisions.frames import Function, call_in, spot
from gradviz.diagnosis.decisions.sites import site_of
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._loop_helpers import outpacing, schedules
from gradviz.program import History, OptimizerCall, RawSite, ScheduleCall

_MANY = 3
_FAINT = 1e-5  # of the largest rate so far
_ONCE = (
    "Step the scheduler once per step of the optimizer: behind {}, in the same block."
)


@rule("GV625", "zero-learning-rate", "warning")
def check(history: History) -> Iterator[Hit]:
    yield from _faded(history)
    zero: dict[int, ScheduleCall] = {}  # optimizer -> who set its rates to 0
    steps: dict[int, int] = {}
    for event in history.events:
        if isinstance(event, ScheduleCall):
            if event.rates and not any(event.rates):
                zero.setdefault(event.optimizer, event)
            else:
                zero.pop(event.optimizer, None)
                steps.pop(event.optimizer, None)
        elif isinstance(event, OptimizerCall) and event.what == "step":
            cause = zero.get(event.optimizer)
            if cause is not None:
                steps[event.optimizer] = steps.get(event.optimizer, 0) + 1
                if steps[event.optimizer] == _MANY:
                    yield _hit(history, cause, event)


def _faded(history: History) -> Iterator[Hit]:
    """Yield a hit where most steps of an optimizer were next to nothing."""
    peak: dict[int, float] = {}
    cause: dict[int, ScheduleCall] = {}  # optimizer -> who set its rates that low
    steps: dict[int, list[OptimizerCall]] = {}
    faint: dict[int, list[OptimizerCall]] = {}
    for event in history.events:
        if isinstance(event, ScheduleCall) and any(event.rates):
            key, rate = event.optimizer, max(event.rates)
            peak[key] = max(rate, peak.get(key, 0.0))
            if rate > _FAINT * peak[key]:
                cause.pop(key, None)
            elif event.what == "step":
                cause.setdefault(key, event)
        elif isinstance(event, OptimizerCall) and event.what == "step":
            steps.setdefault(event.optimizer, []).append(event)
            if event.optimizer in cause:
                faint.setdefault(event.optimizer, []).append(event)
    for key, found in faint.items():
        if len(found) > len(steps[key]) / 2 and len(found) >= _MANY and key in cause:
            yield _faint_hit(history, cause[key], found, len(steps[key]))


def _nothing(history: History, cause: ScheduleCall) -> tuple[RawSite | None, str, str]:
    """Return the line that makes a scheduler's factor 0, how, and what to write.

    Of a function's, from the first step on: later, 0 may be the end of a schedule.
    """
    made, mine = _made(history, cause), schedules(history)[cause.scheduler]
    where = spot(history, made.site, made.stack)
    call = None if where is None else call_in(where)
    if where is None or call is None:
        return None, "", ""
    for each in call.keywords if made is not cause else ():
        chosen = choice(where.at(each.value)).node
        is_zero = isinstance(chosen, ast.Constant) and chosen.value == 0
        if is_zero and each.arg in ("gamma", "factor"):
            fix = "Give it a factor above 0; with 1, the rate stays as it is."
            return made.site, "multiplies it with 0", fix
    early = cause is made or cause in [e for e in mine if e.what == "step"][:1]
    for each in in_brackets(call) if early else ():
        function = function_at(where.at(each))
        if function is None or not isinstance(function.node, Function):
            continue
        for part in ast.walk(function.node):
            if isinstance(part, ast.BinOp) and isinstance(part.op, ast.FloorDiv):
                how = "divides without remainder, which is 0 below the divisor"
                return site_of(history, function.at(part)), how, "Divide with `/`."
        values = returned(function.node)
        if cause is not made and len(values) == 1:
            site = site_of(history, function.at(values[0]))
            return site, "is 0 so early", "Let it fall more slowly."
    return None, "", ""


def _made(history: History, cause: ScheduleCall) -> ScheduleCall:
    """Return the construction of a scheduler, if the log has it."""
    mine = schedules(history)[cause.scheduler]
    return next((each for each in mine if each.what == "init"), cause)


def _hurried(history: History, cause: ScheduleCall) -> str:
    """Return a sentence about a schedule that goes on more often than its optimizer."""
    mine = [e for e in schedules(history)[cause.scheduler] if e.what == "step"]
    often = outpacing(history, mine)
    return f"`{history.text(cause.site)}` {often}. " if often else ""


def _faint_hit(
    history: History, cause: ScheduleCall, found: list[OptimizerCall], steps: int
) -> Hit:
    hurried = _hurried(history, cause)
    return Hit(
        f"{hurried}The {cause.kind} has brought the learning rate "
        f"below one hundred-thousandth of what it was: {len(found)} of {steps} steps "
        f"move next to nothing. It is stepped in {history.line(cause.site)}.",
        cause.site,
        _ONCE.format(history.line(found[0].site))
        if hurried
        else "Step it once per epoch if its numbers count epochs, or give it as many "
        "steps as there are batches.",
        symptom=found[0].site,
        related=(Related("steps without effect", found[0].site),),
        certainty=0.8,
    )


def _hit(history: History, cause: ScheduleCall, step: OptimizerCall) -> Hit:
    begins = "begins with" if cause.what == "init" else "has come to"
    factor, how, fix = _nothing(history, cause)
    if factor is not None:
        return Hit(
            f"The {cause.kind} {begins} a learning rate of 0: {history.quoted(factor)} "
            f"{how}. {history.line(step.site)} goes on stepping, and these steps "
            "change no parameter.",
            factor,
            fix,
            symptom=step.site,
            related=(
                Related("rate of 0 from here on", cause.site),
                Related("steps without effect", step.site),
            ),
        )
    hurried = _hurried(history, cause)
    return Hit(
        f"{hurried}The {cause.kind} {begins} a learning rate of 0 "
        f"({history.line(cause.site)}), and {history.line(step.site)} goes on "
        "stepping: these steps change no parameter.",
        (cause if hurried else _made(history, cause)).site,
        _ONCE.format(history.line(step.site))
        if hurried
        else "Begin the schedule above 0 (`epoch + 1`, `start_factor`)."
        if cause.what == "init"
        else "Give the schedule as many steps as the training has, or end the training "
        "with it.",
        symptom=step.site,
        related=(
            Related("rate of 0 from here on", cause.site),
            Related("steps without effect", step.site),
        ),
    )
