"""Of the tensors that meet in a broadcast, the one whose shape no other has."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from gradviz.dependence.nesting import turn
from gradviz.dependence.op_families import RESHAPES, plain
from gradviz.diagnosis.decisions.frames import spot
from gradviz.diagnosis.edits.syntax import is_module_name
from gradviz.diagnosis.rules._origins import origin_call
from gradviz.program import Call, History, Value
from gradviz.text.places import package_of

_FAR = 40  # calls that are looked at for what meets


@dataclass(frozen=True, slots=True)
class Odd:
    """An operand that alone has its shape, where the others are of several origins."""

    value: Value
    others: tuple[Value, ...]  # of the other shape, one of each origin
    reshaped: Call | None  # the user's method that only made its shape, for these


def odd_one(history: History, call: Call, pair: tuple[Value, Value]) -> Odd | None:
    """Return the operand of a broadcast to be changed, if what meets there tells."""
    tall, flat = pair
    if call.outputs[0].shape != tall.shape[:-1] + flat.shape[-1:]:
        return None  # a loss that is a number already: nothing meets its pairs
    calls = _meeting(history, call)
    for value, other in (pair, pair[::-1]):
        mine, others = (_of_shape(history, calls, each) for each in (value, other))
        if len(mine) == 1 and len(others) > 1:
            made = _reshaped(history, value, other, calls)
            return Odd(value, tuple(others.values()), made)
    return None


def _meeting(history: History, call: Call) -> list[Call]:
    """Return the calls that give as many pairs, of the same tensors or of results.

    Between two backward passes: a tensor can meet others in each turn of a loop.
    """
    shape, found, waiting = call.outputs[0].shape, {call.index}, [call]
    now = turn(history, call.index)
    for each in waiting:
        for value in (*each.inputs, *each.outputs):
            for use in history.uses(value.tensor):
                pairs = bool(use.outputs) and use.outputs[0].shape == shape
                fresh = use.index not in found and turn(history, use.index) == now
                if pairs and fresh and len(found) < _FAR:
                    found.add(use.index)
                    waiting.append(use)
    return waiting


def _of_shape(history: History, calls: list[Call], like: Value) -> dict[int, Value]:
    """Return what of a shape meets in calls, one of each origin."""
    values = [each for call in calls for each in call.inputs]
    return {
        _first(history, each).tensor: each
        for each in reversed(values)
        if each.shape == like.shape
    }


def _first(history: History, value: Value) -> Value:
    """Return the tensor of the same shape that one was computed from at the outset."""
    made = _made(history, value)
    if made is None:
        return value
    same = (each for each in made.inputs if each.shape == value.shape)
    return next(same, made.outputs[0])


def _made(history: History, value: Value) -> Call | None:
    return origin_call(history, value, lambda each: each.shape)


def _reshaped(
    history: History, value: Value, other: Value, calls: list[Call]
) -> Call | None:
    """Return the user's method without which a tensor had the shape of the others."""
    made = _made(history, value)
    if made is None or made.site is None or package_of(made.site[0].co_filename):
        return None
    if plain(made.op) not in RESHAPES or made.inputs[0].shape != other.shape:
        return None
    if not method_text(history, made):
        return None
    meeting = {each.index for each in calls}
    uses = (use for use in history.uses(made.outputs[0].tensor) if use.outputs)
    return made if all(use.index in meeting for use in uses) else None


def method_text(history: History, call: Call) -> str:
    """Return ".squeeze(-1)" where a call is written as a method, or ""."""
    found = spot(history, call.site)
    function = found.node.func if found and isinstance(found.node, ast.Call) else None
    if found is None or not isinstance(function, ast.Attribute):
        return ""
    operand = function.value
    if is_module_name(operand):
        return ""
    whole, before = found.source.of(found.node), found.source.of(operand)
    return whole.removeprefix(before) if whole.startswith(before) else ""
