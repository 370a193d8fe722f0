"""Gradients that one optimizer's pass leaves in the parameters of another one.

A generator's loss goes through the discriminator: its pass fills the gradients of both,
and is over once the generator has stepped. What is not cleared before the pass of the
discriminator's own loss is applied with it.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from gradviz.dependence import learning
from gradviz.diagnosis.decisions.frames import spot
from gradviz.diagnosis.edits.remedy import Remedy, first_of
from gradviz.diagnosis.edits.statements import moved
from gradviz.diagnosis.edits.training import beside_pass
from gradviz.diagnosis.rule import Hit, Related
from gradviz.diagnosis.rules._gradients import (
    Moment,
    applied_by,
    gradient_reads,
    moments,
    steps_with,
)
from gradviz.diagnosis.rules._loop_helpers import optimizer_words
from gradviz.program import (
    Backward,
    Event,
    History,
    Node,
    Optimizer,
    OptimizerCall,
    RawSite,
)

_LEAST = 2  # steps of one optimizer


@dataclass(frozen=True, slots=True)
class _Left:
    """A step that applied what a pass for another optimizer has left."""

    step: OptimizerCall
    tensors: tuple[int, ...]
    foreign: Backward
    other: Optimizer  # whose step it was for
    own: Backward  # the first pass for the parameters alone
    cleared: Event | None  # the last time before the foreign pass


def of_another(history: History) -> Iterator[Hit]:
    """Yield one hit per optimizer whose steps apply what another's pass has left."""
    several = {key for key, found in applied_by(history).items() if len(found) > 1}
    served = {key: steps_with(history)[key] for key in several}
    found: dict[int, list[_Left]] = {}
    for moment in moments(history) if served else ():
        if moment.what == "step" and isinstance(moment.event, OptimizerCall):
            left = _left(history, moment, moment.event, served)
            if left is not None:
                found.setdefault(moment.event.optimizer, []).append(left)
    for key, rows in found.items():
        if len(rows) >= _LEAST:
            yield _hit(history, history.program.optimizers[key], rows)


def _left(
    history: History,
    moment: Moment,
    step: OptimizerCall,
    served: dict[int, list[OptimizerCall]],
) -> _Left | None:
    """Return what a step applied of a pass that had served another optimizer."""
    optimizer = history.program.optimizers.get(step.optimizer)
    if optimizer is None or optimizer.maximizes:  # which wants the same pass
        return None
    groups: dict[tuple[int, ...], list[int]] = {}
    passes: dict[int, Backward] = {}
    for key, leaf in moment.leaves.items():
        if leaf.state == "fresh" and len(leaf.added) > 1:
            groups.setdefault(tuple(b.index for b in leaf.added), []).append(key)
            passes |= {b.index: b for b in leaf.added}
    for added, tensors in groups.items():
        pair = _pair([passes[index] for index in added], optimizer, history)
        if pair is None:
            continue
        foreign, own = pair
        if _is_read(history, tensors, foreign[0], own):
            continue
        other = _served_before(
            history, served.get(foreign[-1].index, []), own, optimizer
        )
        if other is not None and all(
            _leads_through(history, each, tensors, other.tensors) for each in foreign
        ):
            cleared = moment.leaves[tensors[0]].cleared
            return _Left(step, tuple(tensors), foreign[-1], other, own, cleared)
    return None


def _pair(
    added: list[Backward], optimizer: Optimizer, history: History
) -> tuple[list[Backward], Backward] | None:
    """Return the passes that reach other optimizers' parameters, and the first own one.

    Where all others are before it.
    """
    others = learning.managed(history) - set(optimizer.tensors)
    own = [others.isdisjoint(each.accumulates_into) for each in added]
    first = own.index(True) if True in own else 0
    if not first or not all(own[first:]):
        return None
    return added[:first], added[first]


def _served_before(
    history: History, steps: list[OptimizerCall], own: Backward, optimizer: Optimizer
) -> Optimizer | None:
    """Return the other optimizer that had used a pass before the own one began."""
    mine = set(optimizer.tensors)
    for each in steps:
        row = history.program.optimizers.get(each.optimizer)
        if row is not None and each.index < own.index and mine.isdisjoint(row.tensors):
            return row
    return None


def _is_read(
    history: History, tensors: list[int], foreign: Backward, own: Backward
) -> bool:
    """Tell whether the program looks at gradients in between: it may turn them."""
    reads = history.once(_reads)
    return any(
        bisect(reads.get(key, ()), foreign.index)
        < bisect(reads.get(key, ()), own.index)
        for key in tensors
    )


def _reads(history: History) -> dict[int, list[int]]:
    """Return the indices of the calls that took the gradient of a tensor."""
    found: dict[int, list[int]] = {}
    for call in gradient_reads(history):
        found.setdefault(call.inputs[0].tensor, []).append(call.index)
    return found


def _leads_through(
    history: History, event: Backward, mine: Collection[int], theirs: Collection[int]
) -> bool:
    """Tell whether a pass came to others' parameters through these, not round about.

    In its forward the others were used first. An encoder's gradients are the sum of
    those of the heads that were used after it: this is meant.
    """
    nodes = history.reach(event.nodes[:1])
    if not nodes or len(nodes) < event.node_count:
        return False
    near, far = _beside(nodes, {*mine}), _beside(nodes, {*theirs})
    ends, behind = history.leaves_behind(near), history.leaves_behind(far)
    return not ends.isdisjoint(theirs) and behind.isdisjoint(mine)


def _beside(nodes: dict[int, Node], leaves: set[int]) -> list[int]:
    """Return the nodes that use leaves, which may be transposed or cast before."""
    mine = {key for key, node in nodes.items() if node.leaf in leaves}
    found: list[int] = []
    for key in sorted(nodes):  # each after those it leads to
        edges = nodes[key].next
        if any(edge is not None and edge[0] in mine for edge in edges):
            found.append(key)
            if len(edges) == 1:
                mine.add(key)
    return found


def _hit(history: History, optimizer: Optimizer, rows: list[_Left]) -> Hit:
    first = rows[0]
    cleared = _clearing(history, optimizer, rows)
    name, other = (optimizer_words(history, x.key) for x in (optimizer, first.other))
    own = history.line(first.own.site)
    when = ""
    if cleared is not None:
        when = (
            f" {history.quoted(cleared.site)} clears them too early, before the other "
            "loss is backpropagated."
        )
    return Hit(
        f"{name} also applies leftover gradients of another loss to "
        f"{learning.listed(history, first.tensors)}, in at least {len(rows):,} steps. "
        f"The backward pass for {other} fills these gradients too, and nothing clears "
        f"them before {own} adds the gradients of its own loss.{when}",
        first.own.site if cleared is None else cleared.site,
        f"Call `{_clear(history, optimizer, cleared, first.own)}` right before "
        f"`{history.text(first.own.site)}` in {own}.",
        symptom=first.step.site,
        related=(
            Related("leftover gradients come from here", first.foreign.site),
            Related("own gradients added here", first.own.site),
        ),
        tensors=first.tensors,
        certainty=0.9,
        edit=_edit(optimizer, cleared, first),
    )


def _clearing(
    history: History, optimizer: Optimizer, rows: list[_Left]
) -> OptimizerCall | None:
    """Return the call that clears these gradients, and no others, at another time.

    A line that clears those of others, too, as in a loop over all, may be right as it
    is unless it stands beside the pass.
    """
    mine = set(optimizer.tensors)
    lines = {row.cleared.site for row in rows if row.cleared is not None}
    clears = [x for x in history.of(OptimizerCall) if x.what == "zero_grad"]
    shared = {
        each.site
        for each in clears
        if each.site in lines and not mine.issuperset(x.tensor for x in each.states)
    }
    for row in rows:
        event = row.cleared
        if (
            isinstance(event, OptimizerCall)
            and mine.issuperset(each.tensor for each in event.states)
            and (event.site not in shared or _beside_it(history, event.site, row.own))
        ):
            return event
    return None


def _beside_it(history: History, site: RawSite | None, event: Event) -> bool:
    """Tell whether a line stands in the same block as another."""
    one, other = spot(history, site), spot(history, event.site)
    if one is None or other is None or one.source is not other.source:
        return False
    first, second = map(one.source.statement, (one.node, other.node))
    return one.source.block(first) is one.source.block(second)


def _clear(
    history: History, optimizer: Optimizer, cleared: Event | None, own: Backward
) -> str:
    """Return the call that clears them, as it can be written beside their own pass."""
    if cleared is not None and _beside_it(history, cleared.site, own):
        return history.text(cleared.site)
    return f"{optimizer.name or 'optimizer'}.zero_grad()"


def _edit(optimizer: Optimizer, cleared: Event | None, left: _Left) -> Remedy:
    """Clear right before the own pass: by the call that clears, or by one more."""
    alone = left.own.site != left.foreign.site
    return first_of(
        moved(cleared.site, left.own.site, beside=True) if cleared else None,
        beside_pass(left.own.site, optimizer.name, "zero_grad") if alone else None,
    )
