"""Edits where NaN and Inf are born: an epsilon inside, that the dtype can hold."""

from __future__ import annotations

import ast
from contextlib import suppress

from gradviz.diagnosis.edits.calls import call_at, operand_of
from gradviz.diagnosis.edits.draft import Draft, Edit, NoEditError, only
from gradviz.diagnosis.edits.remedy import Remedy, remedy, remedy_at
from gradviz.diagnosis.edits.syntax import (
    Place,
    called,
    calls_in,
    dotted,
    names_in,
    place,
)
from gradviz.program import Call, History, RawSite

_SMALL = {"float16": "1e-4", "bfloat16": "1e-6"}
_ROOTS = ("sqrt", "rsqrt", "pow")
_EDGE = {"float16": "1e-3", "bfloat16": "1e-2"}


def epsilon(dtype: str, usual: str = "1e-12") -> str:
    """Return a small number that a dtype holds, and whose reciprocal it holds too.

    >>> epsilon("float32"), epsilon("float16")
    ('1e-12', '1e-4')
    """
    return _SMALL.get(dtype, usual)


def dtype_of(call: Call | None) -> str:
    """Return the dtype that a call computes in."""
    found = [*call.outputs, *call.inputs] if call is not None else []
    return next((each.dtype for each in found if "float" in each.dtype), "float32")


def _root(found: Place) -> ast.expr:
    """Return the operand of the root at a place: of ``sqrt``, ``** 0.5``, ``norm``."""
    for each in ast.walk(found.node):
        if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Pow):
            return each.left
        if isinstance(each, ast.Call) and called(each) in _ROOTS:
            return operand_of(found.at(each), _ROOTS)
    raise NoEditError("no root is written here")


@remedy_at
def inside_root(found: Place, dtype: str) -> Edit:
    """Add a small number inside of a root, whose derivative at 0 is infinite."""
    node, draft = _root(found), Draft(found.source)
    text = found.source.of(node)
    plain = isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Add | ast.Sub)
    text = text if plain or not isinstance(node, ast.BinOp | ast.IfExp) else f"({text})"
    return draft.replace(node, f"{text} + {epsilon(dtype)}").edit(safe=False)


@remedy_at
def clamped(found: Place, low: str, high: str = "", *names: str) -> Edit:
    """Clamp the operand of a function to what it takes."""
    node = operand_of(found, names)
    draft = Draft(found.source)
    bounds = f"{low}, {high}" if high else f"min={low}"
    return draft.append(node, f".clamp({bounds})").edit(safe=False)


_DOMAIN = ("acos", "asin", "arccos", "arcsin", "atanh", "arctanh")


def edge_of(dtype: str) -> str:
    """Return how far from 1 an operand must stay, as a number that the dtype tells."""
    return _EDGE.get(dtype, "1e-6")


def inside_domain(site: RawSite | None, edge: str) -> Remedy:
    """Keep the operand of acos and asin off the ends, where the slope is infinite."""
    return clamped(site, f"-1 + {edge}", f"1 - {edge}", *_DOMAIN)


@remedy_at
def above_zero(found: Place, small: str) -> Edit:
    """Clamp the operand of a root or power to what is above 0."""
    draft = Draft(found.source).append(_root(found), f".clamp(min={small})")
    return draft.edit(safe=False)


@remedy_at
def scaled_noise(found: Place) -> Edit:
    """Draw without parameters: ``m + s * torch.randn_like(s)`` for ``normal(m, s)``."""
    call = call_at(found, ("normal",))
    given = [*call.args, *(each.value for each in call.keywords)]
    if len(given) != 2 or calls_in(given[1]):
        raise NoEditError("mean and spread are not given by name")
    draft = Draft(found.source)
    mean, spread = map(draft.operand, given)
    new = f"{mean} + {spread} * torch.randn_like({spread})"
    return draft.replace(call, new).edit(safe=False)


@remedy_at
def divided_exactly(found: Place) -> Edit:
    """Divide with ``/`` where ``//`` rounds to 0."""
    source, node = found.source, found.node
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.FloorDiv):
        divisions = [
            each
            for each in ast.walk(found.statement)
            if isinstance(each, ast.BinOp) and isinstance(each.op, ast.FloorDiv)
        ]
        node = only(divisions, "there is not one such division")
    gap = source.range(node.left).end.upto(source.range(node.right).begin)
    text = source.between(gap)
    if text.count("//") != 1 or "#" in text:
        raise NoEditError("the sign stands among comments")
    return Draft(source).put(gap, text.replace("//", "/")).edit(safe=False)


@remedy
def divisor(history: History, call: Call, site: RawSite | None) -> Edit:
    """Keep the divisor of a division away from 0.

    One that is the result of a root is kept so inside: behind it, the derivative of the
    root would be infinite still.
    """
    found = place(history, site)
    divided = call.inputs[-1]
    maker = history.producer(divided, before=call.index)
    dtype = dtype_of(call)
    if maker is not None and maker.op.strip("_") in ("sqrt", "pow", "rsqrt"):
        return inside_root(maker.site, dtype)(history)
    node = _divisor(found)
    if getattr(found.source.scope(node), "name", "") == "backward":
        raise NoEditError("the formula of a derivative is the user's")
    low = None if divided.summary is None else divided.summary.minimum
    draft = Draft(found.source)
    if low is not None and low >= 0:
        number = epsilon(dtype, "1e-8")
        if "int" in divided.dtype or divided.dtype == "bool":
            number = "1"
        return draft.append(node, f".clamp(min={number})").edit(safe=False)
    text = found.source.of(node)
    if calls_in(node):
        raise NoEditError("it would be computed twice")
    draft.replace(node, f"torch.where({text} == 0, 1.0, {text})")
    return draft.edit(safe=False)


def divisor_text(history: History, site: RawSite | None) -> str:
    """Return what a division divides by, as it is written; "" where it is not."""
    with suppress(LookupError):
        found = place(history, site)
        return found.source.of(_divisor(found))
    return ""


def _divisor(found: Place) -> ast.expr:
    node = found.node
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div):
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return node.right
    call = call_at(found, ("div", "div_", "divide", "true_divide"))
    if not call.args:
        raise NoEditError("the divisor is not written here")
    return call.args[-1]


@remedy_at
def inside_log(found: Place, dtype: str) -> Edit:
    """Clamp the operand of a logarithm, or take it with the softmax that is in it."""
    names = ("log", "log2", "log10", "log1p")
    call = call_at(found, names)
    node = operand_of(found, names)
    draft = Draft(found.source)
    if len(calls_in(found.statement, names)) > 1:
        raise NoEditError("a function of the library computes such a loss safely")
    made = called(node) if called(call) == "log" else ""
    if isinstance(node, ast.Call) and made == "sigmoid":
        inside = operand_of(found.at(node), (made,))
        text = f"torch.nn.functional.logsigmoid({found.source.of(inside)})"
        return draft.replace(call, text).edit(safe=True)
    function = node.func if isinstance(node, ast.Call) else None
    if made == "softmax" and isinstance(function, ast.Attribute):
        inner, head = found.source.of(node), found.source.of(function)
        new = f"{head.removesuffix(made)}log_softmax{inner[len(head) :]}"
        return draft.replace(call, new).edit(safe=True)
    return draft.append(node, f".clamp(min={epsilon(dtype)})").edit(safe=False)


@remedy_at
def safe_exponential(found: Place) -> Edit:
    """Write ``softplus(x)`` for ``log(1 + exp(x))``."""
    for each in found.source.around(found.node):
        if isinstance(each, ast.Call) and called(each) in ("log", "log1p"):
            number: ast.expr | None = operand_of(found.at(each), (called(each),))
            if called(each) == "log":
                number = _one_plus(number)
            if isinstance(number, ast.Call) and called(number) == "exp":
                operand = operand_of(found.at(number), ("exp",))
                text = f"torch.nn.functional.softplus({found.source.of(operand)})"
                return Draft(found.source).replace(each, text).edit(safe=True)
    raise NoEditError("there is no function that is safe by itself for this")


def _one_plus(node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(one, ast.Constant) and one.value == 1:
                return other
    return None


@remedy
def selected_before(
    history: History, site: RawSite | None, select: RawSite | None
) -> Edit:
    """Give an op inside of ``torch.where`` a harmless operand where it is not taken."""
    found, choice = place(history, site), place(history, select)
    where = call_at(choice, ("where",))
    if not (len(where.args) == 3 and dotted(where.func)):
        raise NoEditError("the condition is not written here")
    source = found.source
    condition, one, other = where.args
    inside = [each for each in (one, other) if each in source.around(found.node)]
    node = found.node
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        target: ast.expr = node.right
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        target = node.left
    else:
        target = operand_of(found)
    if not inside and not _follows(choice, found):
        raise NoEditError("the condition is not known there")
    test, text = source.of(condition), source.of(target)
    taken = one if inside[:1] == [one] or (not inside and _names(one, found)) else other
    new = f"torch.where({test}, {text}, 1.0)"
    if taken is other:
        new = f"torch.where({test}, 1.0, {text})"
    if not isinstance(condition, ast.Name | ast.Compare) or calls_in(condition):
        raise NoEditError("the condition would be computed twice")
    return Draft(source).replace(target, new).edit(safe=True)


def _follows(choice: Place, found: Place) -> bool:
    """Tell whether what a condition reads is known before the line of the op."""
    source = choice.source
    if source is not found.source or found.statement.lineno > choice.statement.lineno:
        return False
    read = names_in(call_at(choice, ("where",)).args[0])
    return not any(
        isinstance(each, ast.Name)
        and isinstance(each.ctx, ast.Store)
        and each.id in read
        and each.lineno >= found.statement.lineno
        for each in ast.walk(source.scope(found.node))
    )


def _names(node: ast.expr, found: Place) -> bool:
    """Tell whether an expression reads what the statement of an op binds."""
    statement = found.statement
    made = dotted(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
    return bool(made) and made in names_in(node)


@remedy_at
def masked(found: Place) -> Edit:
    """Fill minus infinity in, where a number near the scores was."""
    call = call_at(found, ("masked_fill", "masked_fill_", "where"))
    numbers = [
        each
        for each in call.args
        if isinstance(each, ast.Constant)
        or (isinstance(each, ast.UnaryOp) and isinstance(each.op, ast.USub))
    ]
    number = only(numbers, "the number is not written here")
    return Draft(found.source).replace(number, 'float("-inf")').edit(safe=False)
