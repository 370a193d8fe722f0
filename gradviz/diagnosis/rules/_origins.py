"""Where tensors that an error is about came from, by records or by names."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from gradviz.diagnosis.rules._lifetime import loads
from gradviz.program.events import Call, Raised
from gradviz.program.history import History
from gradviz.program.values import RawSite, Value


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


def behind(history: History, value: Value, before: int) -> Iterator[Call]:
    """Yield the call that made a tensor, the one that made its first operand, …"""
    while (call := history.producer(value, before)) is not None:
        yield call
        if not call.inputs:
            return
        value, before = call.inputs[0], call.index


def _named(
    history: History, site: RawSite | None, wanted: Callable[[Value], bool]
) -> Iterator[tuple[Value, Call]]:
    names = loads(history.places.statement(site))
    for call in reversed(history.calls):
        outputs = [value for value in call.outputs if wanted(value)]
        if outputs and (
            call.site == site or names.intersection(history.places.targets(call.site))
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


def literal_in(history: History, site: RawSite | None) -> bool:
    """Tell whether a statement spells whole numbers out."""
    statement = history.places.statement(site)
    return any(
        isinstance(each, ast.Constant) and type(each.value) is int
        for each in ([] if statement is None else ast.walk(statement))
    )
