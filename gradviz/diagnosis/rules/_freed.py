"""Why a backward pass met a graph that an earlier pass had used up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from gradviz.dependence.learning import steps
from gradviz.dependence.nesting import frames_of
from gradviz.diagnosis.decisions.keeping import reused_at
from gradviz.diagnosis.decisions.sites import same_line
from gradviz.diagnosis.rules._lifetime import failed_backwards, repeats
from gradviz.program import (
    Backward,
    Call,
    Event,
    History,
    Node,
    OptimizerCall,
    RawSite,
    Value,
)

Reason = Literal["same root", "shared trunk", "carried", "built outside"]


@dataclass(frozen=True, slots=True)
class Crossing:
    """Where a new graph enters an older one: ``node`` is old, ``bridge`` uses it."""

    node: Node
    bridge: Call | None
    value: Value | None  # the old tensor, as the new call took it


@dataclass(frozen=True, slots=True)
class SecondPass:
    """A backward pass that failed on nodes that an earlier one had freed."""

    reason: Reason
    first: Backward
    second: Backward
    freed: Node
    crossing: Crossing | None


def steps_between(history: History, found: SecondPass) -> list[OptimizerCall]:
    """Return the steps that ran after the first pass and before the second."""
    first, second = found.first.index, found.second.index
    return [each for each in steps(history) if first < each.index < second]


def second_passes(history: History) -> list[SecondPass]:
    """Return every backward pass that failed for want of a freed graph."""
    return list(_second_passes(history))


def _second_passes(history: History) -> Iterator[SecondPass]:
    for second in failed_backwards(history, "second time"):
        freed = _freed_node(history, second)
        first = _first_pass(history, second, freed)
        if freed is None or first is None:
            continue
        roots = {value.node for value in first.roots}
        if roots & {value.node for value in second.roots}:
            again = repeats(first, second)
            reason: Reason = "built outside" if again else "same root"
            yield SecondPass(reason, first, second, freed, None)
            continue
        crossing = crossing_into(history, first, second)
        yield SecondPass(
            _reason(history, first, second, crossing), first, second, freed, crossing
        )


def _reason(
    history: History, first: Backward, second: Backward, crossing: Crossing | None
) -> Reason:
    if crossing is None:
        return "shared trunk"
    if made_again(history, crossing.node, first, second):
        return "carried"
    # A part that was ready before the first pass, which did not need it: a second loss.
    walked = crossing.node.key in walked_by(history, first)
    return "built outside" if walked and repeats(first, second) else "shared trunk"


def _freed_node(history: History, second: Backward) -> Node | None:
    keys = list(second.freed)
    if second.error_node in second.freed or not keys:
        keys.insert(0, second.error_node or 0)
    return next((node for key in keys if (node := history.node(key))), None)


def _first_pass(
    history: History, second: Backward, freed: Node | None
) -> Backward | None:
    if freed is None:
        return None
    event = history.at(freed.freed_by)
    if isinstance(event, Backward):
        return event
    earlier = [
        each
        for each in history.backwards
        if each.index < second.index
        and freed.key in each.nodes
        and not each.retain_graph
    ]
    return earlier[-1] if earlier else None


# ---- from the new graph into the old one --------------------------------------------


def crossing_into(
    history: History, first: Backward, second: Backward
) -> Crossing | None:
    """Return where the second pass's graph enters the one that the first walked.

    None if nothing of the second graph is younger than the first pass.
    """
    return _entering(history, first, second, walked_by(history, first))


def reused_after(
    history: History, step: OptimizerCall, second: Backward, node: Node
) -> Crossing | None:
    """Return where what ran after a step enters a graph with an older node."""
    return _entering(history, step, second, {node.key: node})


def _entering(
    history: History,
    since: Event,
    second: Backward,
    old: dict[int, Node],
) -> Crossing | None:
    """Return where the part of a graph that is younger than an event enters an old one.

    A tensor that a loop makes anew in every turn is preferred to one made once.
    """
    found: list[Crossing] = []
    waiting, seen = second.root_nodes, set[int]()
    while waiting:
        key = waiting.pop()
        node = history.node(key)
        if node is None or key in seen:
            continue
        seen.add(key)
        for below in _computed_below(history, node):
            if below.key not in old and _younger(below, since):
                waiting.append(below.key)
            elif _younger(node, since) and _leads(history, below.key, old):
                found.append(_crossing(history, node, below))
    for crossing in found:
        if made_again(history, crossing.node, since, second):
            return crossing
    return found[0] if found else None


def walked_by(history: History, backward: Backward) -> dict[int, Node]:
    """Return the nodes of a pass that are known, though none may lead to them."""
    found = history.reach(backward.root_nodes)
    for key in backward.nodes:
        node = history.node(key)
        if node is not None:
            found.setdefault(key, node)
    return found


def _computed_below(history: History, node: Node) -> Iterator[Node]:
    """Yield the next nodes, leaves left out."""
    for edge in node.next:
        below = None if edge is None else history.node(edge[0])
        if below is not None and below.leaf is None:
            yield below


def _younger(node: Node, event: Event) -> bool:
    """Tell whether a node was made after an event, or nobody knows."""
    return node.call is None or node.call > event.index


def _leads(history: History, key: int, old: dict[int, Node]) -> bool:
    """Tell whether a node leads to a walked one: a second output may not be one."""
    if key in old:
        return True
    return any(
        each in old and node.leaf is None for each, node in history.reach([key]).items()
    )


def _crossing(history: History, node: Node, below: Node) -> Crossing:
    bridge = history.maker(node)
    value = None
    for each in () if bridge is None else bridge.inputs:
        if each.node == below.key:
            value = each
    return Crossing(below, bridge, value)


def made_again(history: History, node: Node, first: Event, second: Event) -> bool:
    """Tell whether the line that made a node ran again between two events."""
    maker = history.maker(node)
    return any(
        call.nodes
        and first.index < call.index < second.index
        and same_line(call.site, node.site)
        and (maker is None or call.may_share_callers(maker))
        for call in history.calls
    )


# ---- the line to change -------------------------------------------------------------


def built_at(history: History, node: Node, second: Backward) -> RawSite | None:
    """Return the line outside of a loop that built what its backward passes reach.

    What an object keeps in an attribute was built by the line that binds it.
    """
    maker = history.maker(node)
    around = {site[0] for site in second.frames}
    for site in () if maker is None else frames_of(history, maker):
        if site[0] in around or binds_attribute(history, site):
            return site
    return node.site


def reused(history: History, found: SecondPass) -> RawSite | None:
    """Return the line that made what both passes use, on the condition of having none.

    None where the program does not ask for it.
    """
    bridge = None if found.crossing is None else found.crossing.bridge
    maker = None if found.crossing is None else history.maker(found.crossing.node)
    if bridge is None or maker is None:
        return None
    return reused_at(history, bridge.frames, maker.frames)


def binds_attribute(history: History, site: RawSite | None) -> bool:
    """Tell whether a statement binds an attribute."""
    return any("." in each for each in history.places.targets(site))
