"""Which results a program keeps with their graphs, and the line that puts them away."""

from __future__ import annotations

import ast
from bisect import bisect
from collections import defaultdict

from gradviz.dependence.cuts import cuts
from gradviz.dependence.nesting import frames_of
from gradviz.diagnosis.decisions.bindings import own_nodes, stored
from gradviz.diagnosis.decisions.frames import Spot, calls_of, loops_around, spot
from gradviz.diagnosis.decisions.sites import line_of, site_at
from gradviz.diagnosis.decisions.sources import sources
from gradviz.diagnosis.edits.syntax import place
from gradviz.diagnosis.rules._bindings import keeps
from gradviz.diagnosis.rules._lifetime import (
    graph_behind,
    is_parameter_or_number,
    loop_site,
    makers,
    outermost_module,
)
from gradviz.program import Backward, Call, History, RawSite

_FAR = 64  # calls
_LEAST = 3  # results, each from between two other passes


def kept_by_half(history: History) -> list[list[Call]]:
    """Return, by expression, what was alive with a graph in the middle of the run.

    The list that held it may be gone at the end, with its function. Only what no pass
    trained until the end, and where at least half of it was alive: what lets go of the
    older is bounded.
    """
    if len(history.program.together) < 2:
        return []  # nobody looked before the end
    alive, trained = history.program.together[0], history.once(trained_nodes)
    made = defaultdict[object, set[int]](set)
    kept = defaultdict[object, list[Call]](list)
    inner, last = set[int](), 0
    for call in reversed(history.calls):
        if not call.nodes or not trained.isdisjoint(call.nodes):
            continue
        line, run = _run(history, call)
        lives = any(each.tensor in alive and each.node for each in call.outputs)
        last = last or (call.index if lives else 0)
        if call.index <= last:
            made[line].add(run)
        if not lives:
            continue
        if inner.isdisjoint(call.nodes):
            behind = graph_behind(history, [call])
            inner |= behind
            if trained.isdisjoint(behind):
                kept[line].append(call)
    ends = [each.index for each in training_passes(history)]
    return [
        calls[::-1]
        for line, calls in kept.items()
        if 2 * len(calls) >= len(made[line])
        and len({bisect(ends, each.index) for each in calls}) >= _LEAST
    ]


def _run(history: History, call: Call) -> tuple[object, int]:
    """Return the line that ran the model a call is in, with the call's expression.

    And which of its runs: a model's layers may share one expression.
    """
    around, module = loop_site(history, call), outermost_module(history, call)
    line = None if around is None else (line_of(around), call.site or around)
    return line, call.index if module is None else module.index


def holds_values(history: History, calls: list[Call]) -> bool:
    """Tell whether graphs hold more than parameters and numbers.

    What nodes saved is known of those that a pass walked; of others, what they read.
    """
    made_by = history.once(makers)
    behind = (made_by.get(key) for key in graph_behind(history, calls))
    read = (value for call in behind if call is not None for value in call.inputs)
    return not all(map(is_parameter_or_number, read))


def trained_nodes(history: History) -> set[int]:
    """Return the nodes of the passes that train something, leaves left out.

    A derivative whose graph is kept to go on with is part of a forward pass.
    """
    found = set[int]()
    for each in training_passes(history):
        found.update(each.nodes or history.reach(each.root_nodes))
    return {key for key in found if key > 0}


def training_passes(history: History) -> list[Backward]:
    """Return the passes that train something, not those of a forward pass."""
    return [
        each
        for each in history.backwards
        if each.api == "backward" or not (each.create_graph or each.retain_graph)
    ]


def behind_a_cut(history: History, call: Call) -> bool:
    """Tell whether a line gives what a cut keeps from the losses of the run."""
    return call.site is not None and line_of(call.site) in history.once(_cut_off)


def _cut_off(history: History) -> set[object]:
    """Return the lines that made what was cut off: a pass was to come by them."""
    source = (each.source for cut in cuts(history) for each in cut.crossings)
    made = (history.producer(tensor) for tensor in history.behind(source))
    return {line_of(call.site) for call in made if call is not None and call.site}


def put_away(history: History, call: Call) -> tuple[RawSite, str, int] | None:
    """Return the statement that keeps what a call made: site, text and line."""
    assert call.site is not None
    names, file = set[str](), call.site[0].co_filename
    for site in _around(history, call):
        if site[0].co_filename != file:
            continue
        statement = history.places.statement(site)
        put = None if statement is None else _put(statement)
        if statement is not None and put is not None:
            if not _is_made_each_turn(spot(history, site), put):
                return site, ast.unparse(statement), statement.lineno
            names.add(ast.unparse(put))
        names.update(history.places.targets(site))
    kept = [
        each
        for each in history.places.in_file(call.site)
        if isinstance(each, ast.stmt) and stored(each) is not None
    ]
    by_name = next((each for each in kept if keeps(each, names)), None)
    found = by_name or next((e for e in kept if _gets(history, call, e, names)), None)
    if found is None:
        return None
    site = site_at(history, call.site, found.lineno) or call.site
    return site, ast.unparse(found), found.lineno


def _around(history: History, call: Call) -> tuple[RawSite, ...]:
    """Return the frames of a call; where they were not noted, the callers in its file.

    Frames are noted when a line runs for the first time.
    """
    frames = frames_of(history, call)
    if call.stack or call.site is None:
        return frames
    function = history.places.function(call.site[0])
    if function is None:
        return frames
    calls = calls_of(place(history, call.site).source, function)
    outer = (site_at(history, call.site, each.lineno) for each in calls)
    return (*frames, *filter(None, outer))


def _put(statement: ast.stmt) -> ast.expr | None:
    """Return the container that a statement fills."""
    match statement:
        case ast.Expr(ast.Call(ast.Attribute(holder, "update"), [_])):
            return holder
        case _:
            put = stored(statement)
            return None if put is None else put[0]


def _is_made_each_turn(where: Spot | None, holder: ast.expr) -> bool:
    """Tell whether a container is a new one in each turn of the loop around a line."""
    loop = None if where is None else next(loops_around(where), None)
    return isinstance(holder, ast.Name) and any(
        isinstance(each, ast.Assign)
        and any(getattr(to, "id", "") == holder.id for to in each.targets)
        for each in (() if loop is None else own_nodes(loop))
    )


def _gets(history: History, call: Call, statement: ast.stmt, names: set[str]) -> bool:
    """Tell whether what a statement keeps was handed on from one of these names."""
    source, put = place(history, call.site).source, stored(statement)
    return any(
        isinstance(each.node, ast.Name) and each.node.id in names
        for kept in (() if put is None else put[1])
        for each in sources(Spot(source, kept))
        if each.node is not kept
    )


def is_of_leaves(history: History, call: Call) -> bool:
    """Tell whether one expression goes over leaves, not over batches: their norm."""
    statement = history.places.statement(call.site)
    loops = (ast.GeneratorExp, ast.ListComp)
    if statement is None or not any(isinstance(e, loops) for e in ast.walk(statement)):
        return False
    waiting, seen = [call], set[int]()
    while waiting and len(seen) < _FAR:
        each = waiting.pop()
        if each.module is not None:
            return False
        seen.add(each.index)
        values = [value for value in each.inputs if value.requires_grad]
        made = (history.producer(e, each.index) for e in values if not e.is_leaf)
        waiting += [e for e in made if e is not None and e.index not in seen]
    return not waiting
