"""Functions that a loop makes all use the last value of its variable.

What it does
    Finds functions defined in a loop that read the loop's variable, and ran after the
    loop was over.

Why is this bad
    A function looks its names up when it is called. By then the variable has its last
    value, and so for all of the functions: every task has the last task's target, every
    hook the last layer's name.

Example
    ::

        for column, name in enumerate(tasks):
            losses[name] = lambda out, y: F.mse_loss(out, y[:, column])

Use instead
    ::

        for column, name in enumerate(tasks):
            losses[name] = lambda out, y, column=column: F.mse_loss(out, y[:, column])

When it stays quiet
    Where the function runs inside of the loop, as a closure of an optimizer does, and
    where the variable is a parameter of it.

References
    https://docs.python.org/3/faq/programming.html#why-do-lambdas-defined-in-a-loop-with-different-values-all-return-the-same-result
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.diagnosis.decisions.bindings import looked_up, own_nodes
from gradviz.diagnosis.decisions.decision import Frames
from gradviz.diagnosis.decisions.frames import Function, Spot, spot
from gradviz.diagnosis.decisions.sites import line_of, site_at
from gradviz.diagnosis.edits.calls import bound_now
from gradviz.diagnosis.edits.syntax import names_in
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import History, OptimizerCall, RawSite


@rule("GV691", "loop-variable-bound-late", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per function that was made so."""
    told = set[object]()
    for frames in _ran(history):
        for outside, site in enumerate(frames[:-1], 1):
            if site[0] in told:
                continue
            told.add(site[0])  # what one call shows, all of them do
            where = spot(history, site)
            if where is None:
                continue
            for loop, late in _loops_around(where):
                callers = frames[outside:]
                if late and not _runs_inside(history, callers, where, loop):
                    yield _hit(history, site, where.scope, late)
                    break


def _ran(history: History) -> Iterator[Frames]:
    """Yield the frames of what ran: calls, and what made optimizers and layers."""
    yield from (each.frames for each in (*history.calls, *history.of(OptimizerCall)))
    layers = history.program.modules.values()
    yield from ((each.site, *each.stack) for each in layers if each.site is not None)


def _loops_around(where: Spot) -> Iterator[tuple[ast.For, list[str]]]:
    """Yield the loops that a function is defined in, and what it reads of their own."""
    function, source = where.scope, where.source
    if not isinstance(function, Function):
        return
    outer, read = source.scope(function), looked_up(function)
    for each in source.around(function):
        if each is outer:
            return
        if isinstance(each, ast.For) and function is not each.iter:
            inside = {id(node) for node in ast.walk(each)}
            others = [node for node in own_nodes(outer) if id(node) not in inside]
            again = {name for node in others for name in _set_by(node)}
            late = [name for name in _varying(each) if name not in again]
            yield each, [name for name in late if name in read]


def _set_by(node: ast.AST) -> list[str]:
    """Return the variables that a statement sets."""
    if isinstance(node, ast.For):
        targets: list[ast.AST] = [node.target]
    else:
        targets = list(node.targets) if isinstance(node, ast.Assign) else []
    return [name for target in targets for name in names_in(target)]


def _varying(loop: ast.For) -> list[str]:
    """Return the variables that a loop sets anew from turn to turn."""
    found = names_in(loop.target)
    for each in (node for part in loop.body for node in ast.walk(part)):
        if isinstance(each, ast.Assign) and not {*names_in(each.value)}.isdisjoint(
            found
        ):
            found += _set_by(each)
    return found


def _runs_inside(history: History, callers: Frames, where: Spot, loop: ast.For) -> bool:
    """Tell whether a call of a function came from the loop that defines it."""
    outer = where.source.scope(where.scope)
    for site in callers:
        file, line = line_of(site)
        around = history.places.function(site[0]) or where.source.tree
        if file != where.source.file or around is not outer:
            continue
        if loop.lineno <= line <= (loop.end_lineno or line):
            return True
    return False


def _hit(history: History, site: RawSite, function: ast.AST, late: list[str]) -> Hit:
    line: int = function.lineno  # type: ignore[attr-defined]
    made: RawSite | None = site_at(history, site, line)
    name = late[0]
    return Hit(
        f"The function in line {line} looks `{name}` up when it is called, and it is "
        f"called after the loop that sets `{name}` is over: all functions that the "
        "loop made use its last value.",
        made,
        f"Bind it as a default, `{name}={name}`, among the function's parameters.",
        symptom=site,
        line=line,
        related=(Related("runs here, with the last value", site),),
        edit=bound_now(made, name),
        certainty=0.95,
    )
