"""What made zeros of a gradient, where nothing else is known of the call."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from math import isinf, prod

from gradviz.dependence import learning
from gradviz.dependence.flow import words
from gradviz.dependence.lineage import behind
from gradviz.dependence.op_families import CONSTANTS, MULTIPLICATIONS, numbers_in, plain
from gradviz.diagnosis.decisions.choice import choice
from gradviz.diagnosis.decisions.frames import spot
from gradviz.diagnosis.decisions.helpers import misused
from gradviz.diagnosis.decisions.sites import site_of
from gradviz.diagnosis.gradient_flow import all_zero, origin
from gradviz.program import Backward, Call, History, Node, RawSite

_FILLS = words("setitem masked_fill index_fill fill index_put")
_LARGEST, _SMALLEST = words("max amax topk"), words("min amin")
_FAR = 20  # calls from infinite values back to where they came from


@dataclass(frozen=True, slots=True)
class Stop:
    """A node that turned what came in into zeros, in every pass."""

    node: Node
    call: Call  # that made it
    backward: Backward
    leaves: frozenset[int]  # whose gradients end there


@dataclass(frozen=True, slots=True)
class Zero:
    """Why a gradient ends in zeros, and the line that chose so."""

    words: str  # what the call does: "multiplies with 0"
    site: RawSite | None
    fix: str
    is_given: bool = True  # the program says so itself; other numbers would not help


def zero_at(history: History, stop: Stop) -> Zero:
    """Return what is known of a call behind which there are only zeros."""
    call = stop.call
    constant = overwritten(history, stop)
    if constant is not None:
        return constant
    empty = _emptied(history, call)
    if empty is not None:
        what = f"works on nothing, since `{history.text(empty.site)}` selects nothing"
        return Zero(what, empty.site, "Check its condition: it never holds.")
    infinite = filled_up(history, call)
    if infinite is not None:
        return infinite
    is_product = plain(call.op) in MULTIPLICATIONS
    if is_product and 0 in numbers_in(call):
        fix = "Leave the factor out, or give it another value."
        return Zero("multiplies with 0", _number(history, call), fix)
    factor = next(filter(all_zero, call.inputs), None)
    if is_product and factor is not None:
        made = origin(history, factor, call.index)
        given = made is not None and (
            plain(made.op) in CONSTANTS
            or (not made.inputs and len(history.uses(factor.tensor)) > 1)
        )  # what is made anew for each pass follows from data
        site = made.site if given and made is not None else call.site
        what = f"multiplies with {history.name(factor, 'a tensor')}, which is 0"
        return Zero(what, site, "Check what it multiplies with.", given)
    return Zero(
        "lets no gradient through",
        call.site,
        "Check what it is given: where it is flat, nothing can be learned.",
        is_given=False,
    )


def filled_up(history: History, call: Call) -> Zero | None:
    """Return what put in the infinite values that are all that a call is given."""
    way = _infinite(history, call)
    if not way:
        return None
    made = way[-1]
    what = (
        f"is given nothing but infinite values, which {history.quoted(made.site)} put "
        "in"
    )
    return Zero(what, made.site, _other_filling(way))


def _other_filling(way: list[Call]) -> str:
    """Return what to fill with: the other infinity, where one of many is chosen."""
    filled = [each for each in numbers_in(way[-1]) if isinf(each)]
    chosen = {plain(each.op) for each in way} & (_LARGEST | _SMALLEST)
    if len(filled) != 1 or len(chosen) != 1:
        return "Fill with a value that is not chosen later."
    old, new = ("inf", "-inf") if filled[0] > 0 else ("-inf", "inf")
    picked = "inf" if chosen <= _LARGEST else "-inf"
    why = "is what" if picked == old else f"turns into {picked} on its way, which"
    return f"Fill with `float('{new}')`: {old} {why} `{chosen.pop()}` chooses."


def overwritten(history: History, stop: Stop) -> Zero | None:
    """Return who put constants in the place of all that a gradient would go back to."""
    call = stop.call
    if plain(call.op) not in _FILLS or any(e.requires_grad for e in call.inputs[1:]):
        return None
    lines = [
        history.line(each.site)
        for write in call.writes
        for each, _ in history.writes(write.storage, call.index, stop.backward.index)
        if plain(each.op) in _FILLS
        and not any(v.requires_grad for v in each.inputs[1:])
    ]
    also = f", and with {learning.joined(dict.fromkeys(lines))} it" if lines else ""
    caller = misused(history, call, stop.backward)
    fix = "Give the loss what was there before it is overwritten."
    if caller is not None:
        fix = (
            f"{fix[:-1]}, and keep `{history.text(caller)}` for what is only measured."
        )
    return Zero(
        f"puts constants in the place of what was computed{also} leaves nothing of it",
        caller or call.site,
        fix,
    )


def _emptied(history: History, call: Call) -> Call | None:
    """Return the call that selected nothing of what a call works on."""
    if not call.inputs or prod(call.inputs[0].shape):
        return None
    calls = behind(history, call.inputs[0], call.index)
    return next((e for e in calls if e.inputs and prod(e.inputs[0].shape)), None)


def _infinite(history: History, call: Call) -> list[Call]:
    """Return the way back to the call that infinite values came from, if all are."""
    value = call.inputs[0] if call.inputs else None
    summary = None if value is None else value.summary
    if value is None or summary is None or not 0 < summary.count == summary.infs:
        return []
    before, way = call.index, list[Call]()
    for _ in range(_FAR):
        writes = history.writes(value.storage, before=before)
        made = history.producer(value, before)
        if writes and (made is None or writes[-1][0].index > made.index):
            made = writes[-1][0]
        if made is None:
            return []
        way.append(made)
        bad = [e for e in made.inputs if e.summary is not None and e.summary.infs]
        if not bad:
            return way
        value, before = bad[0], made.index
    return []


def _number(history: History, call: Call) -> RawSite | None:
    """Return the line that chose the factor 0 of a product."""
    where = spot(history, call.site, call.stack)
    node = None if where is None else where.node
    if where is not None and isinstance(node, ast.BinOp):
        for each in (node.left, node.right):
            chosen = choice(where.at(each))
            value = chosen.node
            if isinstance(value, ast.Constant) and value.value == 0:
                return call.site if value is each else site_of(history, chosen)
    return call.site
