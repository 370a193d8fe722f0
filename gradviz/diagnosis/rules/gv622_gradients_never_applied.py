"""Gradients are computed and cleared again and again, and no optimizer steps.

What it does
    Finds optimizers whose gradients are cleared after at least two passes, in a run
    without a single step. Where a closure for LBFGS computes them, the line that calls
    it; where a step waits for a condition, in whatever function it is, what decided
    that it never holds.

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
from gradviz.diagnosis.decisions.sites import sources_of
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
from gradviz.program import (
    Backward,
    History,
    Optimizer,
    OptimizerCall,
    RawSite,
    ScheduleCall,
)

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
            return _of_condition(history, optimizer, waits)
    fix = f"Call `{step}` after `backward()`, with its parentheses."
    return _Cause(site, said, fix, line, edit)


def _scheduled(history: History, optimizer: Optimizer) -> ScheduleCall | None:
    """Return the first step of an optimizer's scheduler."""
    steps = (each for each in history.of(ScheduleCall) if each.what == "step")
    return next((each for each in steps if each.optimizer == optimizer.key), None)


@dataclass(frozen=True, slots=True)
class _Wait:
    """A condition that a step waits for, and what decided on it."""

    asked: str
    holds: bool  # whether the step comes where it is true
    by: Decision
    function: str = ""  # that steps, where another one than those around the pass


def _of_condition(history: History, optimizer: Optimizer, wait: _Wait) -> _Cause:
    asked, by = wait.asked, wait.by
    step = f"Its step in `{wait.function}`" if wait.function else "Its step"
    said = f" {step} waits for `{asked}`, which did not hold once."
    if not wait.holds:
        said = f" {step} comes only where `{asked}` does not hold, and it always did."
    if by.text != asked:
        said += f" `{by.text}` in {history.line(by.site)} decided that."
    most = _between_clearings(history, optimizer)
    within = f"within {most} passes" if most > 1 else "after each pass"
    if most:
        said += f" The gradients are cleared after {most} passes at most."
    what = "condition hold" if wait.holds else "step come"
    fix = f"Let the {what} {within}, before the gradients are cleared."
    return _Cause(by.site, said, fix, by.line)


def _between_clearings(history: History, optimizer: Optimizer) -> int:
    """Return how many passes ran at most before gradients were cleared again."""
    most, count, mine = 0, 0, (optimizer.key, 0)
    for each in history.events:
        if isinstance(each, Backward):
            count += each.api == "backward"
        elif isinstance(each, OptimizerCall) and each.optimizer in mine:
            most, count = max(most, count), 0
    return most


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


def _waits_for(history: History, optimizer: Optimizer, made: Backward) -> _Wait | None:
    """Return what a step waits for: beside a pass, or the only one of the program."""
    where = spot(history, made.site, made.stack)
    for level in () if where is None else levels(where):
        met = {test for test, _ in asked_around(level)}
        for each in own_nodes(level.scope):
            if not _steps(history, level.at(each), optimizer):
                continue
            tests = [row for row in asked_around(level.at(each)) if row[0] not in met]
            if tests:
                return _wait(history, level, tests[0], made)
    step = _only_step(history, optimizer)
    test = next(asked_around(step), None) if step is not None else None
    if step is None or test is None:
        return None
    return _wait(history, step, test, made, getattr(step.scope, "name", ""))


def _wait(
    history: History,
    where: Spot,
    test: tuple[ast.expr, bool],
    made: Backward,
    function: str = "",
) -> _Wait:
    asked, holds = test
    by = decided(history, _setting(where.at(asked)), made.site)
    return _Wait(ast.unparse(asked), holds, by, function)


def _only_step(history: History, optimizer: Optimizer) -> Spot | None:
    """Return the only step of an optimizer, in a function that the program names.

    As one does who calls it, or hands it on: to be called at an event.
    """
    sources = sources_of(history)
    nodes = [(each, node) for each in sources for node in ast.walk(each.tree)]
    spots = (Spot(each, node) for each, node in nodes if isinstance(node, ast.Call))
    found = [each for each in spots if _steps(history, each, optimizer)]
    function = found[0].scope if len(found) == 1 else None
    if not isinstance(function, ast.FunctionDef):
        return None
    named = any(
        last_name(node) == function.name or getattr(node, "value", 0) == function.name
        for _, node in nodes
    )
    return found[0] if named else None


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
