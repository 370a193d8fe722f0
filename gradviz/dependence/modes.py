"""Who switched gradients off: the block, decorator or call behind a grad mode."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections import defaultdict
from types import CodeType
from typing import Literal, TypeGuard

from gradviz.dependence.learning import once
from gradviz.program import Call, History, ModeSwitched, RawSite
from gradviz.program.places import Places

How = Literal["block", "decorator", "left", "checkpoint", "sample", "library"]

_SWITCHES = ("no_grad", "set_grad_enabled", "inference_mode")
_OPENERS = (*_SWITCHES, "__enter__", "enter_context")


def switched_off(history: History, call: Call) -> ModeSwitched | None:
    """Return the switch that took gradients from a call: the outermost one in force."""
    rows = _in_force(history).get(call.thread, [])
    place = bisect_right(rows, call.index, key=lambda row: row[0])
    return rows[place - 1][1] if place else None


@once
def _in_force(history: History) -> dict[int, list[tuple[int, ModeSwitched | None]]]:
    """Return the switches in force, each with the event since which, by thread."""
    found: dict[int, list[tuple[int, ModeSwitched | None]]] = defaultdict(list)
    for event in history.of(ModeSwitched):
        rows = found[event.thread]
        cause = rows[-1][1] if rows else None
        if event.enabled:
            cause = None
        elif cause is None and not event.leaving:
            cause = event
        rows.append((event.index, cause))
    return found


def how(history: History, switch: ModeSwitched, call: Call) -> How:
    """Say how the mode came to be off where ``call`` ran."""
    if decorator(history, switch) is not None:
        return "decorator"
    if _inside(history.places, switch.site, call):
        return "block"
    text = history.text(switch.site)
    if any(word in _statement(history.places, switch.site) for word in _OPENERS):
        return "block" if _opens_block(history.places, switch.site) else "left"
    if "checkpoint" in text:
        return "checkpoint"
    return "sample" if ".sample(" in text else "library"


def unlogged(history: History, call: Call) -> tuple[How, RawSite | None]:
    """Say which library switched gradients off: by what it ran in, or the lines."""
    around = None if call.grad_enabled else checkpoint_around(history, call)
    if around is not None:
        return "checkpoint", around.site
    for site in call.frames:
        text = history.text(site)
        if "checkpoint(" in text:
            return "checkpoint", site
        if ".sample(" in text:
            return "sample", site
    return "library", call.site


def checkpoint_around(history: History, call: Call) -> Call | None:
    """Return the checkpoint that a call ran in, the innermost one."""
    around = history.at(call.within)
    while isinstance(around, Call):
        if around.op == "checkpoint":
            return around
        around = history.at(around.within)
    return None


def decorator_line(history: History, switch: ModeSwitched) -> int | None:
    """Return the line of the decorator that switched gradients off."""
    found = decorator(history, switch)
    return None if found is None else found.lineno


def decorator(history: History, switch: ModeSwitched) -> ast.expr | None:
    """Return the decorator of a function that switched gradients off.

    Or the only ``torch.no_grad()(function)`` of its file, best of all one of its name.
    """
    if switch.function is None:
        return None
    known, key = _decorators(history), (switch.function, switch.how)
    if key not in known:
        known[key] = _decorator(history.places, switch.function, switch.how)
    return known[key]


@once
def _decorators(history: History) -> dict[object, ast.expr | None]:
    """Return those that were found so far: a function may run in every step."""
    del history
    return {}


def _decorator(places: Places, function: CodeType, how: str) -> ast.expr | None:
    words = [how] if how in _SWITCHES else list(_SWITCHES)
    definition = places.function(function)
    for each in getattr(definition, "decorator_list", ()):
        if any(word in ast.unparse(each) for word in words):
            return each
    wraps = [
        each
        for each in places.in_file((function, 0))
        if wrapped(each) and any(word in ast.unparse(each.func) for word in words)
    ]
    name = function.co_name
    named = [each for each in wraps if ast.unparse(each.args[0]).endswith(name)]
    found = named or wraps
    return found[0] if len(found) == 1 else None


def wrapped(node: ast.AST) -> TypeGuard[ast.Call]:
    """Tell whether an expression calls what another call gave, with one argument."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Call):
        return False
    return len(node.args) == 1 and not node.keywords


def _statement(places: Places, site: RawSite | None) -> str:
    """Return the text of a statement; of a compound one, its head."""
    statement = places.statement(site)
    if statement is None:
        return places.expression(site)
    if isinstance(statement, ast.With):
        return " ".join(ast.unparse(item) for item in statement.items)
    return ast.unparse(statement)


def _inside(places: Places, site: RawSite | None, call: Call) -> bool:
    """Return whether a call ran within the ``with`` block that begins at a site.

    In a step that is told in brief, frames are left out: what a block switched off ends
    with the block.
    """
    statement = places.statement(site)
    if site is None or not isinstance(statement, ast.With):
        return False
    if not call.stack and call.site is not None and call.site[0] is not site[0]:
        return True
    last = statement.end_lineno or statement.lineno
    return any(
        code is site[0] and statement.lineno <= places.line((code, lasti)) <= last
        for code, lasti in call.frames
    )


def _opens_block(places: Places, site: RawSite | None) -> bool:
    """Return whether a site is in the helper of another ``with`` statement."""
    if site is None:
        return False
    definition = places.function(site[0])
    if not isinstance(definition, ast.FunctionDef):
        return False
    decorators = [ast.unparse(each) for each in definition.decorator_list]
    return definition.name == "__enter__" or any(
        "contextmanager" in each for each in decorators
    )
