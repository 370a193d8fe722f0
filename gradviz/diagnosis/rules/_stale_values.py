"""Values computed once from leaves that change, and walked by pass after pass."""

from __future__ import annotations

from bisect import bisect
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from gradviz.dependence import learning
from gradviz.diagnosis.decisions.optimizers import is_at_rest
from gradviz.diagnosis.decisions.sites import line_of
from gradviz.diagnosis.rules._lifetime import often_walked
from gradviz.program import (
    Backward,
    Call,
    Event,
    History,
    Node,
    OptimizerCall,
    RawSite,
    ScheduleCall,
    Value,
)

_PASSES = 3
_GAPS = 2  # between passes, in which a leaf moved
_TO_STAY = ("clone",)  # another matter: what is to be detached

Line: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True)
class StaleValue:
    """A result whose leaves have moved since it was computed."""

    node: Node
    maker: Call
    value: Value
    passes: Sequence[Backward]  # that walked its graph, in order
    moved: dict[int, Event]  # the leaves behind it, and what first changed each


@dataclass(frozen=True, slots=True)
class _Candidate:
    node: Node
    maker: Call
    value: Value
    passes: Sequence[Backward]
    leaves: frozenset[int]


@learning.once
def stale_values(history: History) -> list[StaleValue]:
    """Return the results that were computed once, while what they come from moved."""
    found = list(_computed_once(history))
    if not found:
        return []
    moves = _moves(history, frozenset[int]().union(*(each.leaves for each in found)))
    return [each for one in found if (each := _stale(one, moves)) is not None]


def _stale(one: _Candidate, moves: dict[int, list[Event]]) -> StaleValue | None:
    turns = [each.index for each in one.passes]
    moved: dict[int, Event] = {}
    for leaf in one.leaves:
        between = [e for e in moves.get(leaf, ()) if turns[0] < e.index < turns[-1]]
        if len({bisect(turns, each.index) for each in between}) >= _GAPS:
            moved[leaf] = min(between, key=lambda each: each.index)
    if not moved:
        return None
    return StaleValue(one.node, one.maker, one.value, one.passes, moved)


# ---- computed once -------------------------------------------------------------------


def _computed_once(history: History) -> Iterator[_Candidate]:
    """Yield the results that many passes met, of lines that did not run again."""
    tops = _tops(history)
    makers = [(node, maker) for node in tops if (maker := history.maker(node))]
    ran = _runs_of(history, {line_of(m.site) for _, m in makers if m.site})
    turns = [each.index for each in history.backwards]
    last = {each.site: each for each in history.backwards}
    memory = learning.last_seen(history)
    for node, maker in makers:
        passes, results = tops[node], [e for e in maker.outputs if e.node == node.key]
        ended = last[passes[-1].site] is not passes[-1]  # later ones met another value
        if not results or ended or _again(maker, ran, turns, passes[0]):
            continue
        value, leaves = results[0], frozenset(history.leaves_behind([node.key]))
        passes = [
            each
            for each in passes  # that give these leaves gradients, not others alone
            if not each.inputs or leaves & {asked.tensor for asked in each.inputs}
        ]
        shared = {memory[leaf].storage for leaf in leaves if leaf in memory}
        follows = value.storage in shared  # a view of a leaf
        if len(passes) < _PASSES or follows or maker.op in _TO_STAY:
            continue
        if not history.writes(value.storage, after=passes[0].index):
            yield _Candidate(node, maker, value, passes, leaves)


def _tops(history: History) -> dict[Node, Sequence[Backward]]:
    """Return nodes of many passes which no node lies above that as many have met."""
    often = {
        node: passes
        for key, passes in often_walked(history, _PASSES).items()
        if (node := history.node(key)) is not None and node.leaf is None
    }
    count = {node.key: len(passes) for node, passes in often.items()}
    below = {
        edge[0]
        for node in often
        for edge in node.next
        if edge is not None and count.get(edge[0]) == count[node.key]
    }
    return {node: found for node, found in often.items() if node.key not in below}


def _runs_of(history: History, lines: Collection[Line]) -> dict[Line, list[Call]]:
    """Return the calls of some lines that made nodes, in order."""
    files = {file for file, _ in lines}
    found: dict[Line, list[Call]] = defaultdict(list)
    for call in history.calls if lines else ():
        if call.nodes and call.site and call.site[0].co_filename in files:
            line = line_of(call.site)
            if line in lines:
                found[line].append(call)
    return found


def _again(
    maker: Call, ran: dict[Line, list[Call]], turns: list[int], first: Backward
) -> bool:
    """Tell whether a line ran in turns: before some pass of the run, and behind it."""
    mine = ran[line_of(maker.site)] if maker.site else []
    alike = [each for each in mine if each.may_share_callers(maker)]
    indices = [each.index for each in alike] or [maker.index]
    apart = bisect(turns, indices[0]) != bisect(turns, indices[-1])
    return apart or indices[-1] > first.index


# ---- and what has moved since --------------------------------------------------------


def _moves(history: History, leaves: Collection[int]) -> dict[int, list[Event]]:
    """Return what changed some leaves: steps of optimizers, and the program itself."""
    found: dict[int, list[Event]] = {leaf: [] for leaf in leaves}
    for step in _effective_steps(history):
        for state in step.states:
            learns = state.has_grad and state.requires_grad and state.zero is not True
            if learns and state.tensor in found:
                found[state.tensor].append(step)
    memory = learning.last_seen(history)
    for leaf in leaves:
        for call, _ in history.writes(memory[leaf].storage) if leaf in memory else ():
            if call.op != "step":  # the write of one of the optimizers' steps
                found[leaf].append(call)
    return found


def _effective_steps(history: History) -> Iterator[OptimizerCall]:
    """Yield the steps of optimizers whose rates are not 0, as far as is known."""
    optimizers = history.program.optimizers
    still = {key for key, each in optimizers.items() if is_at_rest(history, each)}
    for event in history.events:
        match event:
            case ScheduleCall(rates=rates) if rates:
                (still.discard if any(rates) else still.add)(event.optimizer)
            case OptimizerCall(what="step") if event.optimizer not in still:
                yield event
            case _:
                pass


def used_in(history: History, found: StaleValue) -> list[RawSite]:
    """Return the lines that take a result into the graphs of later passes."""
    lines: dict[Line, RawSite] = {}
    for use in history.uses(found.value.tensor, after=found.maker.index):
        if use.nodes and use.site is not None:
            lines.setdefault(line_of(use.site), use.site)
    return [lines[each] for each in sorted(lines)]
