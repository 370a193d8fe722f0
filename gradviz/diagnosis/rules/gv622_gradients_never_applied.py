"""Gradients are computed and cleared again and again, and no optimizer steps.

What it does
    Finds optimizers whose gradients are cleared after at least two passes, in a run
    without a single step. Where a closure for LBFGS computes them, the line that calls
    it; where a step waits for a condition, what decided that it never holds.

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
from dataclasses import dataclass

from gradviz.diagnosis.decisions.bindings import own_nodes, returned
from gradviz.diagnosis.decisions.choice import path
from gradviz.diagnosis.decisions.conditions import asked_around
from gradviz.diagnosis.decisions.decision import Decision, decided
from gradviz.diagnosis.decisions.frames import Spot, last_name, levels, spot
from gradviz.diagnosis.edits.remedy import Remedy
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
from gradviz.program import Backward, History, Optimizer, RawSite, ScheduleCall

_CLOSURES = ("LBFGS",)  # optimizers whose step needs one


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


@dataclass(frozen=True, slots=True)
class _Cause:
    """Why no step comes: the line to change, what to say of it, and what to do."""

    site: RawSite | None
    said: str
    fix: str
    line: int | None = None
    edit: Remedy | None = None


def _cause(history: History, optimizer: Optimizer, made: Backward) -> _Cause:
    step = f"{optimizer.name or 'optimizer'}.step()"
    scheduled = _scheduled(history, optimizer)
    first = made.site if scheduled is None else scheduled.site
    site, line, said = or_uncalled(history, first, "step")
    edit = beside_pass(made.site, optimizer.name, "step", after=True)
    if line is not None:
        edit = called_at(site, line)
    if scheduled is not None:
        only = f" Only its scheduler steps (`{history.text(first)}`), which changes "
        said = f"{only}the learning rate and nothing else.{said}"
    elif line is None:
        closure = _closure(history, made) if optimizer.kind in _CLOSURES else None
        if closure is not None:
            said = f" `{closure}` only computes them: it is for a step to call."
            fix = f"Hand it to the optimizer: `{step[:-1]}{closure})`."
            return _Cause(made.stack[0], said, fix)
        waits = _waits_for(history, optimizer, made)
        if waits is not None:
            return _of_condition(history, *waits)
    fix = f"Call `{step}` after `backward()`, with its parentheses."
    return _Cause(site, said, fix, line, edit)


def _scheduled(history: History, optimizer: Optimizer) -> ScheduleCall | None:
    """Return the first step of an optimizer's scheduler."""
    steps = (each for each in history.of(ScheduleCall) if each.what == "step")
    return next((each for each in steps if each.optimizer == optimizer.key), None)


def _of_condition(history: History, asked: str, by: Decision) -> _Cause:
    said = f" Its step waits for `{asked}`, which did not hold once."
    if by.text != asked:
        said += f" `{by.text}` in {history.line(by.site)} decided that."
    fix = "Let the condition hold before the gradients are cleared, or clear them "
    return _Cause(by.site, said, f"{fix}only behind a step.", by.line)


def _hit(history: History, optimizer: Optimizer, made: Backward) -> Hit:
    name = f"`{optimizer.name}`" if optimizer.name else f"the {optimizer.kind}"
    cause = _cause(history, optimizer, made)
    return Hit(
        f"The gradients that {history.line(made.site)} computes are thrown away "
        f"unused, time after time: {name} never steps, and nothing is trained."
        f"{cause.said}",
        cause.site,
        cause.fix,
        symptom=made.site,
        related=(
            Related("optimizer made here", optimizer.site),
            Related("gradients computed here", made.site),
        ),
        line=cause.line,
        edit=cause.edit,
    )


def _waits_for(
    history: History, optimizer: Optimizer, made: Backward
) -> tuple[str, Decision] | None:
    """Return what a step beside a pass waits for, and what decided on that."""
    where = spot(history, made.site, made.stack)
    for level in () if where is None else levels(where):
        met = {test for test, _ in asked_around(level)}
        for each in own_nodes(level.scope):
            if not _steps(history, level.at(each), optimizer):
                continue
            tests = [e for e, _ in asked_around(level.at(each)) if e not in met]
            if tests:
                decision = decided(history, _setting(level.at(tests[0])), made.site)
                return ast.unparse(tests[0]), decision
    return None


def _setting(asked: Spot) -> Spot:
    """Return the only setting, made elsewhere, that a condition reads; or itself."""
    ends = (path(asked.at(each))[-1] for each in ast.walk(asked.node))
    found = {
        each.node: each
        for each in ends
        if isinstance(each.node, ast.Constant) and each.line != asked.line
    }
    return found.popitem()[1] if len(found) == 1 else asked


def _steps(history: History, where: Spot, optimizer: Optimizer) -> bool:
    """Tell whether a call steps an optimizer, by its name or by what made that."""
    match where.node:
        case ast.Call(ast.Attribute(owner, "step")):
            same = last_name(owner) == (optimizer.name or "").rpartition(".")[2]
            made = optimizer.site and history.places.line(optimizer.site)
            return same or path(where.at(owner))[-1].line == made
        case _:
            return False


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
