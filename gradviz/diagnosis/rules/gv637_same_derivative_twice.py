"""The same derivative is taken twice, where the second was to be another one.

What it does
    Finds two calls of ``autograd.grad`` in one function, in different lines, that take
    the derivative of the same result with respect to the same tensor, graph included.
    Or in two turns of one loop, where both are added up, as for a Laplacian, or where
    nothing takes the first of them, and the loop hands nothing from turn to turn.

Why is this bad
    Both give the same numbers. In an equation with a second derivative, the first one
    was written down again: ``u_xx`` is ``u_x``. The network is trained on another
    equation, the residual falls, and the solution is wrong.

Example
    ::

        u_x = grad(u, x)
        u_xx = grad(u, x)

Use instead
    ::

        u_x = grad(u, x)
        u_xx = grad(u_x, x)

When it stays quiet
    Where the two are of different functions, or of one line that runs again and takes
    another part of the derivative each time; where no graph is asked for; where it
    happens once.

References
    https://pytorch.org/docs/stable/generated/torch.autograd.grad.html
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Hashable, Iterator

from gradviz.dependence.alike import alike
from gradviz.dependence.op_families import ADDITIONS, JOINS, plain
from gradviz.diagnosis.decisions.frames import Spot, spot, spots
from gradviz.diagnosis.edits.draft import parsed_expression
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Backward, Call, History, RawSite, Value
from gradviz.program.places import names_in

_LEAST = 2  # times
_TWO = 2  # parts of a text around a name that it has once
_MOST = 16  # summands that are looked at
_LOOPS = ast.For | ast.While | ast.ListComp | ast.GeneratorExp
_Pair = tuple[RawSite, RawSite]
_Parts = list[tuple[Value, Value]]
_Telling = Callable[[History, RawSite, Backward], Hit]


@rule("GV637", "same-derivative-twice", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per pair of lines."""
    taken: dict[Hashable, Backward] = {}
    found: dict[_Pair, list[Backward]] = {}
    for each in _derivatives(history):
        pair = _lines(history, taken.setdefault(_asked(each), each), each)
        if pair is not None:
            found.setdefault(pair, []).append(each)
    for (first, second), passes in found.items():
        if len(passes) >= _LEAST:
            yield _hit(history, first, second, passes[0])
    yield from _in_turns(history)


def _derivatives(history: History) -> Iterator[Backward]:
    """Yield the passes that take a derivative with its graph."""
    asked = (each for each in history.backwards if each.api == "grad")
    return (each for each in asked if each.create_graph)


def _in_turns(history: History) -> Iterator[Hit]:
    """Yield one hit per loop that takes one derivative in two of its turns.

    Where both are added up, or nothing takes the first of them.
    """
    last: dict[Hashable, Backward] = {}
    found: dict[tuple[RawSite, _Telling], list[Backward]] = {}
    for each in _derivatives(history):
        if len(each.roots) != 1:
            continue
        key = each.frames, _asked(each)[1:]
        before, last[key] = last.get(key), each
        if before is None:
            continue
        if not alike(history, before.roots[0], each.roots[0], each.index):
            continue
        pairs, where = _same_parts(history, before, each), _looping(history, each)
        if where is not None and _is_added_twice(history, pairs):
            found.setdefault((where[0], _added_hit), []).append(each)
        elif where is not None and _is_dropped(history, pairs) and _restarts(where[1]):
            found.setdefault((where[0], _dropped_hit), []).append(each)
    for (site, hit), passes in found.items():
        if len(passes) >= _LEAST:
            yield hit(history, site, passes[0])


def _same_parts(history: History, one: Backward, other: Backward) -> _Parts:
    """Return what two passes of one derivative gave, and the same views of both."""
    pairs = [
        (a, b)
        for a, b in zip(one.results, other.results, strict=True)
        if a is not None and b is not None
    ]
    for a, b in pairs:
        uses = zip(history.uses(a.tensor), history.uses(b.tensor), strict=False)
        for first, second in uses:
            same = (first.op, _numbers(first)) == (second.op, _numbers(second))
            if same and _is_view(first):
                pairs += zip(first.outputs, second.outputs, strict=False)
    return pairs


def _is_added_twice(history: History, pairs: _Parts) -> bool:
    """Tell whether the same part of both is added up."""
    return any(
        {a.tensor, b.tensor} <= _summands(history, use)
        for a, b in pairs
        for use in history.uses(b.tensor)
    )


def _is_dropped(history: History, pairs: _Parts) -> bool:
    """Tell whether nothing takes the first one, and something takes the other."""
    old, new = (
        any(not _is_view(use) for v in values for use in history.uses(v.tensor))
        for values in zip(*pairs, strict=True)
    )
    return new and not old


def _is_view(call: Call) -> bool:
    return all(each.is_view for each in call.outputs)


def _restarts(where: Spot) -> bool:
    """Tell whether no turn of the loop around a pass reads what the last one took."""
    loop, taken = _around(where), where.source.statement(where.node)
    if not isinstance(loop, ast.For | ast.While) or not isinstance(taken, ast.Assign):
        return False
    ends: dict[str, int] = {}  # of what comes of the derivative: where it is bound
    assigned = (each for each in ast.walk(loop) if isinstance(each, ast.Assign))
    for each in sorted(assigned, key=lambda each: each.lineno):
        if each is taken or ends.keys() & {*map(ast.unparse, ast.walk(each.value))}:
            names = (name for target in each.targets for name in names_in(target))
            ends |= dict.fromkeys(names, each.end_lineno or each.lineno)
    return not any(
        isinstance(each, ast.expr)
        and isinstance(getattr(each, "ctx", None), ast.Load)
        and each.lineno <= ends.get(ast.unparse(each), 0)
        for each in ast.walk(loop)
    )


def _numbers(call: Call) -> list[object]:
    return [each for each in call.arguments if not isinstance(each, Value)]


def _summands(history: History, call: Call) -> set[int]:
    """Return what a call joins or adds up, with what was added up just before it."""
    if plain(call.op) in JOINS:
        return {each.tensor for each in call.inputs}
    found, value = set[int](), call.outputs[0] if call.outputs else None
    while value is not None and len(found) < _MOST:
        made = history.producer(value)
        if made is None or plain(made.op) not in ADDITIONS:
            break
        found |= {each.tensor for each in made.inputs}
        value = made.inputs[0] if made.inputs else None
    return found


def _looping(history: History, passed: Backward) -> tuple[RawSite, Spot] | None:
    """Return the innermost line around a pass that a loop or comprehension runs."""
    found = spots(history, passed.frames)
    return next((row for row in found if _around(row[1]) is not None), None)


def _around(where: Spot) -> ast.AST | None:
    around = where.source.around(where.node)
    return next((each for each in around if isinstance(each, _LOOPS)), None)


def _asked(backward: Backward) -> tuple[Hashable, ...]:
    """Return which derivative a pass takes: of what, by what, with what weights."""
    of = tuple(value.tensor for value in backward.roots)
    by = tuple(value.tensor for value in backward.inputs)
    return of, by, tuple(_weight(value) for value in backward.gradients)


def _weight(value: Value | None) -> Hashable:
    """Return the number that a tensor is filled with, or which one it is."""
    summary = None if value is None else value.summary
    if value is None or summary is None or summary.bad or not summary.count:
        return value and value.tensor
    is_constant = summary.minimum == summary.maximum
    return ("all", summary.minimum) if is_constant else value.tensor


def _lines(history: History, first: Backward, second: Backward) -> _Pair | None:
    """Return the two lines of one function from which passes were begun."""
    for one, other in zip(first.frames[::-1], second.frames[::-1], strict=False):
        if one != other:
            is_apart = one[0] is other[0] and history.line(one) != history.line(other)
            return (one, other) if is_apart else None
    return None


def _again(text: str, old: str) -> str:
    """Return ": `derivative(u_x, x)`", a call as it takes the second derivative.

    >>> _again("grad(u, x)", "u_x")
    ': `grad(u_x, x)`'
    """
    match call := parsed_expression(text):
        case ast.Call(args=[ast.Name(of), *_]) if old.isidentifier():
            for each in ast.walk(call):
                if isinstance(each, ast.Name) and each.id == of:
                    each.id = old
            return f": `{ast.unparse(call)}`"
        case _:
            return ""


def _from_before(history: History, site: RawSite | None) -> str:
    """Return the derivative of what a name holds that each turn binds anew.

    Before the loop, that has the name of the values which each turn differentiates.
    """
    where, text = spot(history, site), history.text(site)
    loop = None if where is None else _around(where)
    function = None if where is None else where.scope
    if not isinstance(loop, ast.For | ast.While) or function is None:
        return ""
    bound = {
        name.id
        for name in ast.walk(loop)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }
    for each in ast.walk(function):
        match each:
            case ast.Assign([ast.Name(name)], ast.Name() | ast.Attribute() as value):
                old = ast.unparse(value)
                found = re.split(rf"(?<![\w.]){re.escape(old)}(?!\w)", text)
                if each.lineno < loop.lineno and name in bound and len(found) == _TWO:
                    return f"Write `{found[0]}{name}{found[1]}`."
            case _:
                pass
    return ""


def _added_hit(history: History, loop: RawSite, passed: Backward) -> Hit:
    return Hit(
        f"The loop in {history.line(loop)} adds the same derivative twice: in two of "
        f"its iterations, {history.quoted(passed.site)} differentiates the same values "
        "with respect to the same tensor, and the same part of the result is used.",
        loop,
        "Select another part of the derivative in each iteration, by the variable of "
        "the loop.",
        symptom=passed.site,
        related=(Related("differentiated here", passed.site),),
        tensors=tuple(value.tensor for value in passed.inputs),
        certainty=0.85,
    )


def _dropped_hit(history: History, loop: RawSite, passed: Backward) -> Hit:
    return Hit(
        f"{history.quoted(passed.site)} differentiates the same values in each turn of "
        "its loop, not the derivative of the turn before: the result stays a first "
        "derivative, however many turns there are.",
        loop,
        _from_before(history, passed.site)
        or "Let each turn differentiate the derivative that the turn before gave.",
        symptom=passed.site,
        related=() if passed.site == loop else (Related("taken here", passed.site),),
        tensors=tuple(value.tensor for value in passed.inputs),
        certainty=0.85,
    )


def _hit(history: History, first: RawSite, second: RawSite, passed: Backward) -> Hit:
    names = [", ".join(history.places.targets(site)) for site in (first, second)]
    old, new = (f"`{name}`" if name else "" for name in names)
    where = history.line(second)
    return Hit(
        f"{new or 'The result'} has the same numbers as "
        f"{old or 'the first derivative'}: `{history.text(second)}` ({where}) "
        f"differentiates again what {history.line(first)} differentiated already, with "
        "respect to the same tensor.",
        second,
        f"For the second derivative, differentiate "
        f"{old or f'the result of {history.line(first)}'} in {where}"
        f"{_again(history.text(second), names[0])}.",
        symptom=passed.site,
        related=(Related("differentiated here first", first),),
        tensors=tuple(value.tensor for value in passed.inputs),
        certainty=0.85,
    )
