"""An update of a leaf is computed, bound to a name, and never used.

What it does
    Finds ``p = p - rate * p.grad`` in a loop over parameters, or in a function that was
    given one: the local name moves to the result, and the parameter keeps its values.
    So does a target network with ``t = 0.99 * t + 0.01 * p``.

Why is this bad
    Nothing is trained, and nothing says so: every pass differentiates with respect to
    the values that the parameters were initialised with.

Example
    ::

        with torch.no_grad():
            for p in net.parameters():
                p = p - 0.1 * p.grad

Use instead
    ::

        with torch.no_grad():
            for p in net.parameters():
                p -= 0.1 * p.grad

When it stays quiet
    Where the result is used in any way, the parameter is written later, or an optimizer
    steps it.

References
    https://docs.python.org/3/faq/programming.html#how-do-i-write-a-function-with-output-parameters-call-by-reference
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.dependence import learning
from gradviz.diagnosis.decisions.sites import same_line
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._lifetime import rebound
from gradviz.program import Backward, Call, Event, History, RawSite, Value, following
from gradviz.program.places import over_lines

_NEAR = 20  # calls of one statement that are looked at


@rule("GV224", "update-not-kept", "warning")
def check(history: History) -> Iterator[Hit]:
    gradients = _gradients(history)
    lines: dict[RawSite | None, _Line | None] = {}
    for number, call in enumerate(history.calls):
        if call.site not in lines:
            lines[call.site] = _line(history, call.site)
        line = lines[call.site]
        if line is None or not call.outputs or not _is_unused(history, call):
            continue
        for leaf in _updated(history, number, gradients, line):
            again = _still_used(history, leaf, call)
            if again is not None:
                lines[call.site] = None  # told once
                yield _hit(history, call, line.name, leaf, again)
                break


@dataclass(frozen=True, slots=True)
class _Line:
    """A statement that reads a name and binds it anew."""

    name: str
    is_loop_variable: bool


def _line(history: History, site: RawSite | None) -> _Line | None:
    name = rebound(history, site)
    if name is None or not name.isidentifier():
        return None
    return _Line(name, _is_loop_variable(history, site))


def _gradients(history: History) -> dict[int, set[int]]:
    """Return the gradients of each leaf: as ``.grad``, and from ``autograd.grad``."""
    found: dict[int, set[int]] = defaultdict(set)
    for call in history.calls:
        if call.op == "grad.get" and call.inputs:
            found[call.inputs[0].tensor] |= {each.tensor for each in call.outputs}
    for backward in history.backwards:
        for value, result in zip(backward.inputs, backward.results, strict=False):
            if result is not None:
                found[value.tensor].add(result.tensor)
    return found


def _is_unused(history: History, call: Call) -> bool:
    return not call.writes and not any(
        history.uses(each.tensor, call.index) for each in call.outputs
    )


def _updated(
    history: History, number: int, gradients: dict[int, set[int]], line: _Line
) -> Iterator[Value]:
    """Yield the leaves that a statement computes with, and with gradients of."""
    last = history.calls[number]
    shapes = {each.shape for each in last.outputs}
    for call in history.calls[max(0, number - _NEAR) : number + 1]:
        if not same_line(call.site, last.site):
            continue
        for value in call.inputs if call.outputs and call.op != "grad.get" else ():
            learns = value.is_leaf and value.requires_grad and value.shape in shapes
            mine = gradients.get(value.tensor) if learns else None
            looped = value.is_parameter and line.is_loop_variable
            if looped or (
                mine and mine & history.behind(last.inputs, before=last.index)
            ):
                yield value


def _is_loop_variable(history: History, site: RawSite | None) -> bool:
    """Tell whether a statement of a loop binds the loop's own variable anew."""
    statement = history.places.statement(site)
    bound = set(history.places.targets(site))
    if site is None or statement is None:
        return False
    places = history.places
    around = places.function(site[0]) or places.tree(site[0].co_filename)
    if around is None:
        return False
    return any(
        isinstance(loop, ast.For)
        and loop.lineno < statement.lineno
        and bound & {ast.unparse(each) for each in ast.walk(loop.target)}
        for loop in over_lines(around, statement.lineno, statement.lineno)
    )


def _still_used(history: History, leaf: Value, update: Call) -> Event | None:
    """Return a later pass to a leaf that has kept the values from before the update.

    Of a leaf that does not learn, such as a target network's, a later use.
    """
    wanted = learning.wanted(history)
    if wanted is not None and leaf.tensor in wanted:
        return None
    if history.writes(leaf.storage, after=update.index):
        return None
    for backward in following(history.backwards, update.index):
        if leaf.tensor in backward.leaves:
            return backward
    later = [] if leaf.requires_grad else history.uses(leaf.tensor, update.index)
    again = [use for use in later if same_line(use.site, update.site)]
    others = [use for use in later if not same_line(use.site, update.site)]
    return others[0] if others and again else None


def _hit(history: History, update: Call, name: str, leaf: Value, again: Event) -> Hit:
    kept = history.name(leaf, "the leaf")
    what = "the backward pass" if isinstance(again, Backward) else "the next use"
    return Hit(
        f"{history.line(update.site).capitalize()} binds the name `{name}` to the "
        f"result of its update, and nothing uses the result: {kept} keeps its values, "
        f"and {what} in {history.line(again.site)} meets the old ones.",
        update.site,
        _fix(history, name, update.site),
        symptom=again.site,
        related=(Related("meets the old values", again.site),),
        tensors=(leaf.tensor,),
        certainty=0.9,
    )


def _fix(history: History, name: str, site: RawSite | None) -> str:
    statement = history.places.statement(site)
    value = statement.value if isinstance(statement, ast.Assign) else None
    step = f"{name} -= step"
    if value is not None:
        step = f"{name}.copy_({ast.unparse(value)})"
    if isinstance(value, ast.BinOp) and ast.unparse(value.left) == name:
        sign = {"Sub": "-=", "Add": "+="}.get(type(value.op).__name__)
        if sign is not None:
            step = f"{name} {sign} {ast.unparse(value.right)}"
    return (
        f"Write the new values into the tensor itself: `{step}` under "
        "`torch.no_grad()`, or give the parameters to an optimizer."
    )
