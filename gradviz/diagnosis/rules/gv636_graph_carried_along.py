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
    or what is carried is detached; sums of losses and running means, which lengthen
    their graph in one line and are another finding.

References
    https://pytorch.org/docs/stable/notes/faq.html
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from gradviz.dependence.nesting import next_pass
from gradviz.diagnosis.decisions.sites import same_line, site_at
from gradviz.diagnosis.edits.writes import kept_without_graph
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._carried import carried_at, kept_name, stored_at
from gradviz.diagnosis.rules._freed import Crossing
from gradviz.diagnosis.rules._kept import trained_nodes, training_passes
from gradviz.diagnosis.rules._lifetime import makers
from gradviz.program import Call, History, Node, RawSite, Value

_LEAST = 8  # steps


@dataclass(frozen=True, slots=True)
class _Carried:
    """A result of an earlier step that a call takes over, graph and all."""

    bridge: Call
    value: Value
    steps: int  # that the graph behind it goes back


@rule("GV636", "graph-carried-along", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that keeps such a state."""
    longest: dict[RawSite | None, _Carried] = {}
    for each in _carried(history):
        known = longest.get(each.bridge.site)
        if each.steps >= _LEAST and (known is None or each.steps > known.steps):
            longest[each.bridge.site] = each
    for each in longest.values():
        yield from _hits(history, each)


def _carried(history: History) -> Iterator[_Carried]:
    """Yield what calls take over from steps before, where no pass needs it."""
    trained = history.once(trained_nodes)
    passes = [each.index for each in training_passes(history)]
    known = max(history.program.gaps, default=-1)  # a pass before it may be missing
    found: dict[int, tuple[int, int]] = {}  # by node: steps back, passes before it
    for call in history.calls if len(passes) >= _LEAST else ():
        if call.index < known or not call.nodes or not trained.isdisjoint(call.nodes):
            continue
        turn, longest, taken = bisect_left(passes, call.index), 0, None
        for value in call.inputs:
            steps, last = found.get(value.node or 0, (0, turn))
            if prod(value.shape) == 1:
                continue
            steps += last < turn
            if steps > longest:
                longest, taken = steps, value if last < turn else None
        found.update(dict.fromkeys(call.nodes, (longest, turn)))
        if taken is not None:
            yield _Carried(call, taken, longest)


def _hits(history: History, carried: _Carried) -> Iterator[Hit]:
    bridge, value = carried.bridge, carried.value
    maker = history.once(makers).get(value.node or 0)
    second = next_pass(history, bridge.index)
    if second is None or maker is None:
        return
    node = history.node(value.node)  # not read where no pass reaches it
    node = node or Node(value.node or 0, maker.op, call=maker.index, site=maker.site)
    if same_line(maker.site, bridge.site):
        return  # the line lengthens its own graph: that is GV217
    crossing = Crossing(node, bridge, value)
    site = carried_at(history, crossing, second)
    line = stored_at(history, site, crossing, bridge, second)
    if line is not None:
        site = site_at(history, site, line) or site
    named = kept_name(history, site, line) if line is not None else ""
    name = named or history.bare_name(value) or "the state"
    yield Hit(
        f"Memory grows with each step: `{name}` is kept for the next step with its "
        f"graph, and {history.line(bridge.site)} computes from it, so the graph goes "
        f"back over at least {carried.steps} steps. No backward pass needs this graph.",
        site,
        f"Keep `{name}` without its graph: `{name}.detach()`.",
        symptom=bridge.site,
        related=(
            Related("read in the next step", bridge.site),
            Related("its graph was recorded here", maker.site),
        ),
        nodes=(node.key,),
        line=line,
        edit=kept_without_graph(site, [name], line),
        certainty=0.8,
    )
