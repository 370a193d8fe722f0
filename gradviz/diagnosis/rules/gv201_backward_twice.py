"""A result's graph is walked again after a backward pass freed it.

What it does
    Finds a backward pass over a graph that an earlier pass from the same result walked
    and freed, and names that earlier pass.

Why is this bad
    A pass frees the tensors that the nodes saved, unless it is told to keep them. The
    second one cannot compute anything. ``retain_graph=True`` silences the error, and
    then both passes add to ``.grad``.

Example
    ::

        loss.backward()
        loss.backward()

Use instead
    ::

        loss.backward()
        loss = loss_fn(net(x), y)
        loss.backward()

When it stays quiet
    Where the first pass retained the graph, or the forward ran again in between.

References
    https://pytorch.org/docs/stable/notes/autograd.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._freed import second_passes
from gradviz.diagnosis.rules._lifetime import (
    describe,
    first_difference,
    made_at,
    name_of,
)
from gradviz.program import History

_API = {"backward": "backward()", "grad": "autograd.grad()"}


@rule("GV201", "backward-twice", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per backward pass from a result that was used up."""
    for found in history.once(second_passes):
        if found.reason != "same root":
            continue
        culprit = first_difference(found.first, found.second)
        root = found.second.roots[0]
        name = name_of(history, root, "the result")
        yield Hit(
            f"The graph of {name} was freed by the {_API[found.first.api]} in "
            f"{history.line(culprit)}, and {history.line(found.second.site)} needs it "
            f"once more, for the gradient of {describe(history, found.freed)}.",
            culprit,
            "Run the forward pass again before the second one, or sum what you want "
            "to differentiate and call backward() once. Give the first call "
            "retain_graph=True only if two passes over one graph are really wanted.",
            symptom=found.second.site,
            related=(
                Related("second pass", found.second.site),
                Related("graph built here", made_at(history, root)),
                Related("freed by then", found.freed.site),
            ),
            nodes=(found.freed.key,),
            explains=history.ended_by(found.second),
        )
