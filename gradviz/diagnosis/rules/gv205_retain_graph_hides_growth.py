"""Graphs are retained in a loop, and each iteration's hangs on those before.

What it does
    Finds a loop whose backward passes keep their graphs, where each pass walks the
    graphs of all iterations before it: the number of nodes grows from iteration to
    iteration.

Why is this bad
    ``retain_graph=True`` was added to silence an error about a second pass. The tensor
    that caused it still carries its history along, so time and memory grow with every
    iteration, and gradients flow into iterations that were done.

Example
    ::

        for x in batches:
            state = state * weight
            loss_fn(state, x).backward(retain_graph=True)

Use instead
    ::

        for x in batches:
            state = state.detach() * weight
            loss_fn(state, x).backward()

When it stays quiet
    Where the graph is retained for a second pass over the same iteration, where passes
    are themselves differentiated (``create_graph``), and before the third iteration.

References
    https://pytorch.org/docs/stable/generated/torch.Tensor.backward.html
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from gradviz.diagnosis.decisions.sites import line_of, site_at
from gradviz.diagnosis.edits.remedy import Remedy
from gradviz.diagnosis.edits.training import carried_cut
from gradviz.diagnosis.edits.writes import kept_without_graph
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._carried import blended, carried_at, kept_name, stored_at
from gradviz.diagnosis.rules._freed import crossing_into, made_again
from gradviz.program import Backward, History, RawSite


@rule("GV205", "retain-graph-hides-growth", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per loop whose retained graphs grow."""
    loops: dict[object, list[Backward]] = defaultdict(list)
    for each in history.backwards:
        keeps = each.retain_graph and not each.create_graph
        if keeps and each.api == "backward" and each.site is not None:
            loops[line_of(each.site), each.stack].append(each)
    for passes in loops.values():
        hit = _growth(history, passes)
        if hit is not None:
            yield hit


def _growth(history: History, passes: list[Backward]) -> Hit | None:
    counts = [each.node_count for each in passes]
    if len(counts) < 3 or any(b <= a for a, b in pairwise(counts)):
        return None
    first, second = passes[-2:]
    crossing = crossing_into(history, first, second)
    if crossing is None or not made_again(history, crossing.node, first, second):
        return None
    culprit, bridged = carried_at(history, crossing, second), crossing.bridge
    stored = bridged and stored_at(history, culprit, crossing, bridged, second)
    if blended(history, culprit, stored):
        stored = None  # what is new in it has to keep its graph
    called, cut, edit = _cut(history, culprit, stored)
    if stored is None:
        edit = carried_cut(history, culprit, second, bridged, retained=True)
    name = f"`{called}`" if called else "A tensor made here"
    bridge = None if bridged is None else bridged.site
    shown = ", ".join(map(str, counts[:5])) + (", …" if len(counts) > 5 else "")
    return Hit(
        f"The graph grows in every iteration of the loop: {shown} nodes. {name} "
        "carries the graphs of all iterations along, and retain_graph=True in "
        f"{history.line(second.site)} keeps their saved tensors alive.",
        culprit,
        f"{cut}, and drop `retain_graph=True`.",
        symptom=second.site,
        related=(
            Related("retained here", second.site),
            Related("used in the next iteration", bridge),
        ),
        nodes=(crossing.node.key,),
        edit=edit,
        line=stored,
    )


def _cut(
    history: History, culprit: RawSite | None, stored: int | None
) -> tuple[str, str, Remedy | None]:
    """Return the name of what is carried along, and what cuts its graph."""
    targets = history.places.targets(culprit)
    called = targets[-1] if targets else ""
    if stored is None:
        cut = f", `{called} = {called}.detach()`" if called else ""
        return called, f"Detach it where one iteration ends{cut}", None
    called = kept_name(history, culprit, stored) or called
    edit = kept_without_graph(site_at(history, culprit, stored), [called])
    kept = f"`{called}.detach()`" if called else "it detached"
    return called, f"Keep {kept} in line {stored}", edit
