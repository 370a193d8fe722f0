"""Where tensors got their memory, dtype, device or shape, by records or by names."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Literal

from gradviz.dependence import learning
from gradviz.dependence.flow import words
from gradviz.dependence.op_families import JOINS, MOVES, PICKS, plain
from gradviz.diagnosis.decisions.sites import assignments, same_line
from gradviz.diagnosis.rules._lifetime import loads
from gradviz.program import Call, History, Raised, RawSite, Value


def raised_with(history: History, sentence: str) -> Raised | None:
    """Return the exception that ended the run if this sentence is in it."""
    raised = history.raised
    if raised is None or sentence.lower() not in raised.text.lower():
        return None
    return raised


def suspects(
    history: History, raised: Raised, wanted: Callable[[Value], bool]
) -> Iterator[tuple[Value, Call | None]]:
    """Yield the tensors that the failing statement was given, with what made them.

    First those of the call that failed, then, where no such call is in the log (a
    constructor raised), those that the statement refers to by name.
    """
    for call in reversed(history.calls):
        if call.error and raised.text in call.error:
            for value in call.inputs:
                if wanted(value):
                    yield value, history.producer(value, before=call.index)
            if not call.inputs:
                return  # a factory: its own line says it all
            break
    yield from _named(history, raised.site, wanted)


def suspect(
    history: History, raised: Raised, wanted: Callable[[Value], bool]
) -> Value | None:
    """Return the first of the tensors that `suspects` yields."""
    return next((value for value, _ in suspects(history, raised, wanted)), None)


def is_result(value: Value) -> bool:
    """Tell whether a tensor was computed, with a graph."""
    return value.requires_grad and not value.is_leaf


def _named(
    history: History, site: RawSite | None, wanted: Callable[[Value], bool]
) -> Iterator[tuple[Value, Call]]:
    statement = history.places.statement(site)
    names = loads(statement)
    for call in reversed(history.calls):
        outputs = [value for value in call.outputs if wanted(value)]
        if outputs and (
            call.site == site
            or history.places.statement(call.site) is statement is not None
            or names.intersection(history.places.targets(call.site))
        ):
            yield outputs[-1], call


def first_with(
    history: History, value: Value, keeps: Callable[[Value], bool]
) -> Call | None:
    """Return the call that gave a tensor a property, seen back from the tensor.

    Walks from the call that made the tensor to the calls that made its inputs, as long
    as all of them have the property too.
    """
    call, seen = history.producer(value), set[int]()
    while call is not None and call.index not in seen:
        seen.add(call.index)
        earlier = None
        if call.inputs and all(keeps(each) for each in call.inputs):
            earlier = history.producer(call.inputs[0], before=call.index)
        if earlier is None:
            return call
        call = earlier
    return call


def asked_for_gradients(history: History, leaf: int) -> RawSite | None:
    """Return the line that let a tensor which is no parameter require grad."""
    born = history.producer(leaf)
    asked = [*([] if born is None else [born]), *learning.switches(history, leaf)]
    for call in () if learning.is_parameter(history, leaf) else reversed(asked):
        statement = history.places.statement(call.site)
        if statement is not None and "requires_grad" in ast.unparse(statement):
            return call.site
    return None


def literal_in(history: History, site: RawSite | None) -> bool:
    """Tell whether a statement spells whole numbers out."""
    statement = history.places.statement(site)
    return any(
        isinstance(each, ast.Constant) and type(each.value) is int
        for each in ([] if statement is None else ast.walk(statement))
    )


_MOVES = words("data.set to double float half bfloat16 cuda cpu type")

Property = Literal["dtype", "device", "shape"]


_ANEW = {"dtype": "one_hot", "shape": "gather"}  # whatever the indices were


def origin(history: History, value: Value, what: Property) -> RawSite | None:
    """Return the line that gave a tensor its dtype, device or shape.

    Follows operands that had it already, back to the call where it came in.
    """
    if value.is_parameter:
        return _of_parameter(history, value, what)
    call = origin_call(
        history, value, lambda each: getattr(each, what), _ANEW.get(what)
    )
    return None if call is None else call.site


def origin_call(
    history: History,
    value: Value,
    key: Callable[[Value], object],
    until: str | None = None,
    own: bool = False,
) -> Call | None:
    """Return the first call in the making of a tensor that gave it a property.

    An op named ``until`` gave it anew, whatever its operands were. With ``own``, only
    as far back as nothing else was made of the operands: what could be changed there
    without a change of anything but this tensor.
    """
    wanted, found, limit = key(value), None, None
    while True:
        call = history.producer(value, before=limit)
        if call is None:
            return found
        found, limit = call, call.index
        if call.op == until:
            return found
        same = [
            each
            for each in call.inputs
            if key(each) == wanted and each.tensor != value.tensor
        ]
        data = [each for each in same if not each.is_parameter]
        if not data or (own and _has_other_uses(history, data[0], call)):
            return found
        value = data[0]


_AS_IT_IS = MOVES | PICKS | JOINS | words("repeat expand from_numpy as_tensor")


def made_call(history: History, value: Value) -> Call | None:
    """Return the call that gave a tensor its numbers, through what only moves them.

    As far back as they belong to this tensor alone.
    """
    call = history.producer(value)
    while call is not None and plain(call.op) in _AS_IT_IS and call.inputs:
        before = history.producer(call.inputs[0], before=call.index)
        if before is None or _has_other_uses(history, call.inputs[0], call):
            return call
        call = before
    return call


def _has_other_uses(history: History, value: Value, call: Call) -> bool:
    """Tell whether another line made something of a tensor, too."""
    return any(
        each.outputs and not same_line(each.site, call.site)
        for each in history.uses(value.tensor)
    )


def _of_parameter(history: History, value: Value, what: Property) -> RawSite | None:
    """Return where a module was moved or converted, or else constructed."""
    now = getattr(value, what)
    for call in reversed(history.uses(value.tensor)):
        moving = call.op in _MOVES and call.outputs and what != "shape"
        before = call.inputs[0]
        if moving and getattr(before, what) != now == getattr(call.outputs[0], what):
            return call.site
    return made_at(history, value.tensor)


def made_at(history: History, parameter: int) -> RawSite | None:
    """Return the line that constructed the module of a parameter, or the tensor."""
    module = learning.module_of(history, parameter)
    if module is not None and module.site is not None:
        return module.site
    call = history.producer(parameter)
    created = learning.created_at(history, parameter)
    return created or (None if call is None else call.site)


def described(history: History, value: Value, fallback: str) -> str:
    """Return "`x` of shape (3, 2)" for a tensor."""
    return f"{history.name(value, fallback)} of shape {shape_text(value)}"


def shape_text(value: Value) -> str:
    """Return a shape as Python writes it."""
    return str(tuple(value.shape))


def assigned(history: History, attribute: str) -> tuple[RawSite | None, int | None]:
    """Return site and line of the statement that sets an attribute of this name."""
    site, target = set_where(history, lambda each: each.attr == attribute)
    return site, None if target is None else target.lineno


def set_where(
    history: History, fits: Callable[[ast.Attribute], bool]
) -> tuple[RawSite | None, ast.Attribute | None]:
    """Return the first attribute that is set and fits, with the site of its statement.

    Nothing runs where a plain attribute is set on a tensor: the source has to say it.
    """
    for code, each in assignments(history):
        for one in each.targets:
            if isinstance(one, ast.Attribute) and fits(one):
                return history.places.at_line(code, each.lineno), one
    return None, None
