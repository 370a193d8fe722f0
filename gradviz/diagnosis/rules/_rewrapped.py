"""Results that became the values of a parameter, and what lost its gradient by it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from gradviz.dependence import learning
from gradviz.dependence.flow import Flow
from gradviz.dependence.learning import once
from gradviz.diagnosis.rules._terms import beside
from gradviz.program import Call, History, RawSite, Value


@dataclass(frozen=True, slots=True)
class Rewrap:
    """A parameter with the values of a result whose leaves learn nothing."""

    site: RawSite | None  # the line that wrapped the result, or wrote it
    write: Call | None  # wrote it into a parameter that was there before
    source: Call  # gave the result
    use: Call  # took the parameter first
    lost: frozenset[int]  # leaves behind the result that no pass reaches


@once
def rewraps(history: History) -> list[Rewrap]:
    """Return the first parameter of each line that costs leaves their gradient."""
    wanted = learning.wanted(history)
    reached = learning.trained(history)
    set_by_hand = {c.inputs[0].tensor for c in history.calls if c.op == "grad.set"}
    flow = history.once(Flow)
    found: dict[RawSite | None, Rewrap] = {}
    for use, made, source, value in _wrapped(history):
        if made.tensor not in reached or made.tensor in (wanted or ()):
            continue
        behind = flow.leaves(value, source.index + 1)
        lost = behind - beside(history, made.tensor) - learning.copies(history)
        lost -= set_by_hand
        if wanted is not None:
            lost &= wanted
        if lost:
            site = _wrapping(history, use, made, source)
            first = found.get(site, Rewrap(site, None, source, use, frozenset()))
            found[site] = replace(first, lost=first.lost | lost)
    return [*found.values(), *_written(history)]


_WRITES = ("copy_", "data.set", "set_")


def _written(history: History) -> Iterator[Rewrap]:
    """Yield the lines that write what leaves of an optimizer gave into a parameter."""
    wanted = learning.wanted(history) or set[int]()
    reached = learning.trained(history)
    idle = wanted - reached - learning.copies(history)
    told: set[RawSite | None] = set()
    last = learning.last_seen(history)
    for call in history.calls if idle else ():
        if call.op not in _WRITES or len(call.inputs) < 2 or call.site in told:
            continue
        target, *given = call.inputs
        uses = [each for each in history.uses(target.tensor) if each.index > call.index]
        lost = idle & history.behind(given, before=call.index)
        lost -= {key for key in lost if last[key].storage == given[-1].storage}
        if target.is_parameter and target.tensor in reached and uses and lost:
            told.add(call.site)
            yield Rewrap(call.site, call, call, uses[0], frozenset(lost))


def _wrapped(history: History) -> Iterator[tuple[Call, Value, Call, Value]]:
    """Yield first uses of parameters that share the memory of a result with a graph.

    With the use and the parameter come the call that gave the result, and the result.
    """
    results: dict[int, tuple[Call, Value]] = {}
    met: set[int] = set()
    for call in history.calls:
        for value in call.inputs:
            if not (value.is_parameter and value.is_leaf and value.requires_grad):
                continue
            if value.tensor not in met and value.storage in results:
                yield call, value, *results[value.storage]
            met.add(value.tensor)
        for value in call.outputs:
            if value.requires_grad and not value.is_leaf:
                results[value.storage] = call, value
            elif not value.is_parameter:
                results.pop(value.storage, None)


def _wrapping(history: History, use: Call, made: Value, source: Call) -> RawSite | None:
    """Return the line that wrapped the result, from the log or the program's text."""
    maker = history.producer(made)
    if maker is not None and maker.index < use.index:
        return maker.site
    created = learning.created_at(history, made.tensor)
    if created is not None:
        return created
    for site in (*source.frames, *use.frames):
        if _names_parameter(history.places.statement(site)):
            return site
    return source.site


def _names_parameter(statement: ast.stmt | None) -> bool:
    return statement is not None and any(
        isinstance(each, ast.Call) and ast.unparse(each.func).endswith("Parameter")
        for each in ast.walk(statement)
    )
