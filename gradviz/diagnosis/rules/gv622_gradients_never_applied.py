"""Gradients are computed and cleared again and again, and no optimizer steps.

What it does
    Finds optimizers whose gradients are cleared after at least two passes, in a run
    without a single step. Where a closure for LBFGS computes them, the line that calls
    it.

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

import ast
from collections.abc import Iterator

from gradviz.diagnosis.decisions.bindings import returned
from gradviz.diagnosis.decisions.frames import last_name, spot
from gradviz.diagnosis.edits.statements import called_at
from gradviz.diagnosis.edits.syntax import called
from gradviz.diagnosis.edits.training import beside_pass
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import by_hand
from gradviz.diagnosis.rules._loop_helpers import (
    ever_stepped,
    or_uncalled,
    read_gradients,
    wasted_passes,
)
from gradviz.program import Backward, History, Optimizer, ScheduleCall


@rule("GV622", "gradients-never-applied", "warning")
def check(history: History) -> Iterator[Hit]:
    if ever_stepped(history) or not history.backwards:
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
    needed = optimizer.kind in _TAKING_CLOSURES and not scheduled and not slip
    closure = _closure(history, made) if needed else None
    fix = f"Call `{step}` after `backward()`, with its parentheses."
    if closure is not None:
        culprit = made.stack[0]
        only = f" `{closure}` only computes them: it is for a step to call."
        fix = f"Hand it to the optimizer: `{step[:-1]}{closure})`."
    edit = beside_pass(made.site, optimizer.name, "step", after=True)
    if line is not None:
        edit = called_at(culprit, line)
    return Hit(
        f"The gradients that {history.line(made.site)} computes are thrown away "
        f"unused, time after time: {name} never steps, and nothing is trained.{only}"
        f"{slip}",
        culprit,
        fix,
        symptom=made.site,
        related=(
            Related("optimizer made here", optimizer.site),
            Related("gradients computed here", made.site),
        ),
        line=line,
        edit=None if closure else edit,
    )


_TAKING_CLOSURES = ("LBFGS",)  # optimizers whose step needs one


def _closure(history: History, made: Backward) -> str | None:
    """Return the name of the closure that a pass ran in, where the program calls it.

    That is a function without parameters that clears, computes and returns a loss.
    """
    where = spot(history, made.site, made.stack)
    function = None if where is None else where.scope
    if where is None or not isinstance(function, ast.FunctionDef):
        return None
    call, args = where.frame.call, function.args
    direct = call is not None and last_name(call.func) == function.name
    clears = any(called(each) == "zero_grad" for each in ast.walk(function))
    if not direct or not clears or ast.unparse(args) or not returned(function):
        return None
    return function.name
