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

from gradviz.diagnosis.decisions.sites import line_of
from gradviz.diagnosis.edits.training import carried_cut
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._carried import carried_at
from gradviz.diagnosis.rules._freed import crossing_into, made_again
from gradviz.program import Backward, History


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
    culprit = carried_at(history, crossing, second)
    targets = history.places.targets(culprit)
    name = f"`{targets[-1]}`" if targets else "A tensor made here"
    cut = "Detach it where one iteration ends"
    if targets:
        cut += f", `{targets[-1]} = {targets[-1]}.detach()`"
    bridge = None if crossing.bridge is None else crossing.bridge.site
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
        edit=carried_cut(history, culprit, second, crossing.bridge, retained=True),
    )
