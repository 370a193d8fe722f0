"""A state is carried from step to step with its graph, and no pass ever needs it.

What it does
    Finds results that are computed from what the same expression gave in an earlier
    step, and so on back over at least 8 steps, where no backward pass goes through any
    of them.

Why is this bad
    The graph of the last one holds those of all before it, back to the first step, with
    every tensor they have saved. Nothing fails and every gradient is right: memory
    grows with each step, until there is none.

Example
    ::

        u = F.normalize(weight @ v, dim=0)
        self.u = u  # read in the next step
        return u.detach()

Use instead
    ::

        self.u = u.detach()

When it stays quiet
    Where a pass goes through it, as one over a whole sequence; where grad mode is off,
    or what is carried is detached; sums of losses, which are another finding.

References
    https://pytorch.org/docs/stable/notes/faq.html
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from gradviz.diagnosis.decisions.sites import site_at
from gradviz.diagnosis.edits.writes import kept_without_graph
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._carried import carried_at, kept_name, stored_at
from gradviz.diagnosis.rules._freed import Crossing
from gradviz.diagnosis.rules._kept import trained_nodes, training_passes
from gradviz.program import Call, History, RawSite, Value

_LEAST = 8  # steps


@dataclass(frozen=True, slots=True)
class _Chain:
    """A result, and the earlier results of its expression that it holds."""

    steps: int  # that it goes back
    last: int  # the pass before which the newest of them was made
    bridge: Call | None = None  # that took over the one of the step before
    value: Value | None = None  # which it took


@rule("GV636", "graph-carried-along", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that keeps such a state."""
    longest: dict[RawSite | None, _Chain] = {}
    for chain in _chains(history):
        site = None if chain.bridge is None else chain.bridge.site
        if (
            chain.steps >= _LEAST
            and chain.steps > longest.get(site, _Chain(0, 0)).steps
        ):
            longest[site] = chain
    for chain in longest.values():
        hit = _hit(history, chain)
        if hit is not None:
            yield hit


def _chains(history: History) -> Iterator[_Chain]:
    """Yield the chain of each result that no pass needs and that has one."""
    trained = history.once(trained_nodes)
    passes = [each.index for each in training_passes(history)]
    known = max(history.program.gaps, default=-1)  # a pass before it may be missing
    found: dict[int, _Chain] = {}
    for call in history.calls if len(passes) >= _LEAST else ():
        if call.index < known or not call.nodes or not trained.isdisjoint(call.nodes):
            continue
        turn, longest = bisect_left(passes, call.index), _Chain(0, 0)
        for value in call.inputs:
            before = found.get(value.node or 0)
            if before is None or prod(value.shape) == 1:
                continue
            chain = _Chain(before.steps, turn, before.bridge, before.value)
            if before.last < turn:
                chain = _Chain(before.steps + 1, turn, call, value)
            longest = max(longest, chain, key=_length)
        chain = replace(longest, last=turn)
        found.update(dict.fromkeys(call.nodes, chain))
        if chain.bridge is call:
            yield chain


def _length(chain: _Chain) -> int:
    return chain.steps


def _hit(history: History, chain: _Chain) -> Hit | None:
    bridge, value = chain.bridge, chain.value
    node = None if value is None else history.node(value.node)
    later = (e for e in history.backwards if bridge and e.index > bridge.index)
    second = next(later, None)
    if bridge is None or value is None or node is None or second is None:
        return None
    crossing = Crossing(node, bridge, value)
    site = carried_at(history, crossing, second)
    line = stored_at(history, site, crossing, bridge, second)
    if line is not None:
        site = site_at(history, site, line) or site
    named = kept_name(history, site, line) if line is not None else ""
    name = named or history.name(value, "the state").strip("`")
    maker = history.maker(node)
    return Hit(
        f"{history.line(bridge.site).capitalize()} computes with `{name}` of the step "
        f"before, graph and all, and that one with the one before it: the graph behind "
        f"it goes back over {chain.steps} steps, no backward pass goes through any of "
        "it, and memory grows with each step.",
        site,
        f"Keep it without its graph: `{name}.detach()`.",
        symptom=bridge.site,
        related=(
            Related("read in the next step", bridge.site),
            *([Related("made here", maker.site)] if maker else []),
        ),
        nodes=(node.key,),
        line=line,
        edit=kept_without_graph(site, [name], line),
        certainty=0.8,
    )
