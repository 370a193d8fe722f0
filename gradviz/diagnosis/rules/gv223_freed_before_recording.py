"""GV223 freed-before-recording: the graph was used up before anybody looked.

What it does
    Reports a backward pass over nodes whose saved tensors are gone although no earlier
    pass was recorded.

Why is this bad
    ``backward()`` frees what it walks unless ``retain_graph=True``; a later pass over
    the same graph raises. Which call freed it only a recording can tell.

Example
    ::

        loss.backward()
        gradviz.diagnose(loss)

Use instead
    ::

        with gradviz.record() as recorder:
            loss = loss_fn(net(x), y)
            loss.backward()
            loss.backward()

When it stays quiet
    Where the pass that freed the graph is in the log: GV201 to GV204 name it.

References
    https://pytorch.org/docs/stable/notes/autograd.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._lifetime import describe
from gradviz.program import History


@rule("GV223", "freed-before-recording", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield a hit for the first pass of the log, if its graph was freed before it."""
    for backward in history.backwards[:1]:
        node = history.node(next(iter(backward.freed), None))
        if node is None:
            continue
        yield Hit(
            "The graph was used up before the recording began: an earlier backward "
            f"pass has freed what the gradient of {describe(history, node)} needs.",
            backward.site,
            "Run the forward pass again before the second backward(); record the whole "
            "of it with gradviz.record() to learn which call freed the graph.",
            symptom=backward.site,
            related=(Related("freed by then", node.site),),
            nodes=(node.key,),
            explains=history.ended_by(backward),
        )
