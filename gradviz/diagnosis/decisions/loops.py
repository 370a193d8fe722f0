"""Which line chose for what a loop does something, and which loop it is."""

from __future__ import annotations

import ast

from gradviz.diagnosis.decisions.arguments import in_brackets
from gradviz.diagnosis.decisions.bindings import of_name
from gradviz.diagnosis.decisions.choice import path
from gradviz.diagnosis.decisions.decision import Decision, Frames, decided
from gradviz.diagnosis.decisions.frames import (
    Function,
    Spot,
    loops_around,
    spot,
    spots,
)
from gradviz.diagnosis.edits.syntax import names_in
from gradviz.program import History, RawSite


def of_elements(history: History, site: RawSite | None, stack: Frames = ()) -> Decision:
    """Return the line that chose for what a statement runs: the loop that it fills.

    What is done to each element of a loop, and nothing else, is chosen by what the
    loop walks, or by the condition in it. In a helper, by who gave it that to walk.
    """
    where, statement = spot(history, site, stack), history.places.statement(site)
    if where is None or statement is None or site is None:
        return Decision(site)
    around, chosen = where.source.parent(statement), statement
    if isinstance(around, ast.If) and around.body == [statement]:
        chosen, around = around, where.source.parent(around)
    if isinstance(around, ast.For) and around.body == [chosen]:
        chosen = around if chosen is statement else chosen
    walked = chosen.iter if isinstance(chosen, ast.For) else where.node
    came = None if isinstance(chosen, ast.If) else handed(where.at(walked))
    if came is not None:
        return decided(history, came, site)
    if chosen is statement:
        return Decision(site)
    found = history.places.at_line(site[0], chosen.lineno)
    return Decision(found, history.text(found), site)


def of_objects(history: History, site: RawSite | None) -> Decision | None:
    """Return the line that chose for which objects a loop calls a method.

    That is what the loop walks, or a condition in it: ``for each in optimizers[:1]:
    each.step()``. None where no loop gives the object.
    """
    where = spot(history, site)
    if where is None or not isinstance(where.node, ast.Call):
        return None
    names, tests = {*names_in(where.node.func)}, list[ast.expr]()
    for each in where.source.around(where.node):
        if isinstance(each, ast.If):
            tests.append(each.test)
        for loop in [each] if isinstance(each, ast.For) else _generators(each):
            turned = {*names_in(loop.target)}
            if names & turned:
                tests += getattr(loop, "ifs", [])
                asked = [where.at(test) for test in tests if turned & {*names_in(test)}]
                return decided(
                    history, asked[0] if asked else _walked(where, loop), site
                )
        if isinstance(each, Function):
            break
    return None


def _walked(where: Spot, loop: ast.For | ast.comprehension) -> Spot:
    """Return the collection that a loop walks, where it is spelt out, or the walk."""
    last = path(where.at(_container(loop.iter)))[-1]
    spelt_out = isinstance(last.node, ast.List | ast.Tuple | ast.Dict)
    return last if spelt_out else where.at(loop.iter)


def _generators(node: ast.AST) -> list[ast.comprehension]:
    return getattr(node, "generators", [])


def _container(walked: ast.expr) -> ast.expr:
    """Return what a loop takes its elements from: of ``table.items()``, the table."""
    match walked:
        case ast.Call(ast.Attribute(table, "items" | "keys" | "values"), []):
            return _container(table)
        case ast.Call(ast.Name("enumerate" | "list" | "reversed" | "tuple"), [given]):
            return _container(given)
        case _:
            return walked


def handed(where: Spot) -> Spot | None:
    """Return the argument of the call that gave a helper what it works on."""
    names = [
        each
        for each in ast.walk(where.node)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)
    ]
    if len(names) != 1:
        return None
    found = of_name(where.at(names[0]))
    is_argument = found is not None and found.node in in_brackets(where.frame.call)
    return found if is_argument else None


def turned_at(history: History, around: Frames) -> RawSite | None:
    """Return the innermost of an event's frames that stands in a loop."""
    found = (site for site, where in spots(history, around) if any(loops_around(where)))
    return next(found, None)
