"""The optimizer steps, and no backward pass ever ran.

What it does
    Finds optimizers that step in a run without a single backward pass, and whose
    parameters never have a gradient; where a condition kept the only ``backward()``
    from running, that.

Why is this bad
    ``step()`` skips parameters without a gradient and says nothing: nothing is trained.

Example
    ::

        loss = criterion(net(x), y)
        optimizer.step()

Use instead
    ::

        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()

When it stays quiet
    Where any pass ran, or was tried, or the program sets ``.grad`` itself. A single
    step is an information only: schedulers are sometimes wound forward that way.

References
    https://pytorch.org/docs/stable/optim.html#taking-an-optimization-step
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.diagnosis.decisions.choice import choice
from gradviz.diagnosis.decisions.conditions import Condition, asked_around
from gradviz.diagnosis.decisions.frames import Spot, last_name
from gradviz.diagnosis.decisions.sites import site_of, sources_of
from gradviz.diagnosis.edits.statements import called_at
from gradviz.diagnosis.rule import Hit, rule
from gradviz.diagnosis.rules._loop_helpers import or_uncalled
from gradviz.program import History, OptimizerCall, RawSite

_OF_GRAPHS = {"requires_grad", "grad_fn", "is_grad_enabled"}


@rule("GV620", "step-without-backward", "warning")
def check(history: History) -> Iterator[Hit]:
    if history.backwards:
        return
    for key, made in learning.steps_of(history).items():
        states = [state for step in made for state in step.states]
        if states and not any(state.has_grad for state in states):
            yield _hit(history, key, made)


def _hit(history: History, key: int, steps: list[OptimizerCall]) -> Hit:
    optimizer = history.program.optimizers.get(key)
    name = f"`{optimizer.name}`" if optimizer and optimizer.name else "The optimizer"
    several = len(steps) > 1
    times = f"{len(steps)} times" if several else "once"
    site, line, slip = or_uncalled(history, steps[0].site, "backward")
    fix = "Call `backward()` on the loss before `step()`."
    passed = None if slip else _passed_over(history)
    if passed is not None:
        site, slip, fix = _of_condition(history, passed)
    return Hit(
        f"{name} steps {times}, and no backward pass ever ran: no parameter has a "
        f"gradient, and the steps change nothing.{slip}",
        site,
        fix,
        severity="warning" if several else "info",
        symptom=steps[0].site,
        line=line,
        edit=called_at(site, line) if line is not None else None,
    )


def _passed_over(history: History) -> Condition | None:
    """Return the condition that kept the only ``backward()`` of a program from running.

    In a function that ran. Not whether there is a graph: then that is what is missing.
    """
    calls = [
        Spot(source, each)
        for source in sources_of(history)
        for each in ast.walk(source.tree)
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute)
        if each.func.attr == "backward"
    ]
    asked = list(asked_around(calls[0])) if len(calls) == 1 else []
    if not asked or not _ran(history, calls[0].scope):
        return None
    test, holds = asked[0]
    words = {last_name(each) for each in ast.walk(test)}
    return None if words & _OF_GRAPHS else Condition(calls[0].at(test), holds)


def _ran(history: History, scope: ast.AST) -> bool:
    """Tell whether a function has run, as far as calls in it show."""
    if not isinstance(scope, ast.FunctionDef):
        return isinstance(scope, ast.Module)
    first = min(each.lineno for each in (scope, *scope.decorator_list))
    codes = {site[0] for call in history.calls for site in call.frames}
    return any((e.co_name, e.co_firstlineno) == (scope.name, first) for e in codes)


def _of_condition(
    history: History, passed: Condition
) -> tuple[RawSite | None, str, str]:
    """Return the line to change, what to say of the condition, and what to do."""
    where, word = passed.where, "true" if passed.holds else "false"
    text, last = where.source.of(where.node), choice(where)
    told = (
        f" The only `backward()` is passed over: it runs only where `{text}` "
        f"({history.line(site_of(history, where))}) is {word}, and it never was."
    )
    if isinstance(last.node, ast.Constant) and last.line != where.line:
        site = site_of(history, last)
        value = last.source.of(last.node)
        told = f"{told[:-1]}: {history.line(site)} says `{value}`."
        return site, told, "Set it otherwise, or call `backward()` in any case."
    return site_of(history, where), told, "Call `backward()` in any case."
