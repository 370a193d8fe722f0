"""Which line chose or computed a number: a size, a scale, what a mask fills in."""

from __future__ import annotations

import ast
from collections.abc import Collection
from fractions import Fraction

from gradviz.diagnosis.decisions.arguments import given, in_brackets
from gradviz.diagnosis.decisions.bindings import of_name
from gradviz.diagnosis.decisions.choice import path
from gradviz.diagnosis.decisions.decision import Decision, decided
from gradviz.diagnosis.decisions.frames import Spot, spot
from gradviz.program import Call, History, Module


def of_size(
    history: History, module: Module, place: int, names: Collection[str], ratio: float
) -> Decision:
    """Return the line that computed a size, which is wrong by a ratio.

    Of a product, what chose the factor that explains it by occurring several times: of
    ``channels * side * side``, the side. The constructor's own line, where nothing is
    computed: then the wrong size may have been taken.
    """
    where = spot(history, module.site, module.stack)
    sized = None if where is None else given(where, place, names)
    if where is None or sized is None:
        return Decision(module.site)
    last = path(sized)[-1]
    several = [
        factor
        for factor, count in _factors(last.node).items()
        if count > 1 and _is_power(ratio, count)
    ]
    if len(several) == 1:
        last = path(last.at(several[0]))[-1]
    computed = isinstance(last.node, ast.BinOp) or len(several) == 1
    return decided(history, last, module.site) if computed else Decision(module.site)


def _factors(node: ast.AST) -> dict[ast.expr, int]:
    """Return the factors of a product that are no numbers, and how often they occur."""
    first: dict[str, ast.expr] = {}
    counts: dict[ast.expr, int] = {}
    waiting = [(node, 1)]
    for each, times in waiting:
        match each:
            case ast.BinOp(left, ast.Mult(), right):
                waiting += [(left, times), (right, times)]
            case ast.BinOp(base, ast.Pow(), ast.Constant(int(power))):
                waiting.append((base, times * power))
            case ast.Name() | ast.Attribute() | ast.Call():
                same = first.setdefault(ast.unparse(each), each)
                counts[same] = counts.get(same, 0) + times
            case _:
                pass
    return counts


def _is_power(ratio: float, count: int) -> bool:
    """Tell whether a ratio is that of two small numbers to a power.

    >>> _is_power(25 / 16, 2), _is_power(3 / 2, 2)
    (True, False)
    """
    root = ratio ** (1 / count)
    found = Fraction(root).limit_denominator(64)
    return abs(float(found) - root) < 1e-9 * root


def of_number(history: History, call: Call, number: float) -> Decision:
    """Return the line that chose a plain number which a call was given.

    The call's own, or its statement's, where it is spelt out there or is computed.
    """
    where = spot(history, call.site, call.stack)
    for each in () if where is None else _given_to(where):
        way = path(each)
        if _is_number(way[-1].node, number):
            here = way[-1].source is each.source and way[-1].line == each.line
            return Decision(call.site) if here else decided(history, way[-1], call.site)
    return Decision(call.site)


def _given_to(where: Spot) -> list[Spot]:
    """Return the arguments of a call, or what an assignment stores."""
    if isinstance(where.node, ast.Call):
        return [where.at(each) for each in in_brackets(where.node)]
    statement = where.source.statement(where.node)
    return [where.at(statement.value)] if isinstance(statement, ast.Assign) else []


def _is_number(node: ast.AST, number: float) -> bool:
    try:
        return ast.literal_eval(node) == number  # type: ignore[arg-type]
    except (ValueError, TypeError, SyntaxError):
        return False


def of_scale(history: History, call: Call) -> Decision:
    """Return the line that chose or computed the one number that a call was given.

    Of what is computed from one name alone, what gave that its value: of
    ``sqrt(2 / fan_in)``, the fan. The call's own, where it spells out its numbers.
    """
    where = spot(history, call.site, call.stack)
    if where is None or not isinstance(where.node, ast.Call):
        return Decision(call.site)
    numbers = (_number(where.at(each)) for each in in_brackets(where.node))
    found = [each for each in numbers if each is not None]
    elsewhere = [each for each in found if each.line != where.line]
    return (
        decided(history, elsewhere[0], call.site)
        if len(elsewhere) == 1
        else Decision(call.site)
    )


def _number(where: Spot) -> Spot | None:
    """Return what chose or computed a number; None of what may be none."""
    last = path(where)[-1]
    if isinstance(last.node, ast.Constant):
        return last
    if not isinstance(last.node, ast.BinOp | ast.Call):
        return None
    called = (e.func for e in ast.walk(last.node) if isinstance(e, ast.Call))
    functions = {each for func in called for each in ast.walk(func)}
    names = [
        each
        for each in ast.walk(last.node)
        if isinstance(each, ast.Name) and each not in functions
    ]
    one = of_name(last.at(names[0])) if len({e.id for e in names}) == 1 else None
    return last if one is None else path(one)[-1]
