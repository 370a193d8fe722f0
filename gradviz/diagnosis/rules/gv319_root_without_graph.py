"""GV319 root-without-graph: backward begins at a tensor that nothing led to.

What it does
    Reports a backward pass from a tensor without a graph that was made before the
    recording began.

Why is this bad
    Nothing can be trained by it, and PyTorch does not say where the graph ended.

Example
    ::

        out = net(x).detach()
        gradviz.diagnose(out.sum())

Use instead
    ::

        with gradviz.record() as recorder:
            out = net(x).detach()
            out.sum().backward()

When it stays quiet
    Where the log saw the tensor being made: GV301 to GV317 name the line that cut it,
    and GV314 the ``autograd.grad`` that gave it.

References
    https://pytorch.org/docs/stable/notes/autograd.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis.rule import Hit, rule
from gradviz.diagnosis.rules._lifetime import name_of
from gradviz.program import History


@rule("GV319", "root-without-graph", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield a hit for each pass from a tensor of unknown origin without a graph."""
    results: set[int] = set()
    for backward in history.backwards:
        for root in backward.roots:
            known = history.producer(root) is not None or root.tensor in results
            if root.requires_grad or known:
                continue
            name = name_of(history, root, "the tensor")
            yield Hit(
                f"{name} has no graph: it does not require grad, and it was made "
                "before the recording began.",
                backward.site,
                "Record the lines that compute it with gradviz.record(): the finding "
                "then names the one that cut the graph. The usual ones are detach(), "
                "no_grad(), argmax(), item() and a comparison.",
                symptom=backward.site,
                tensors=(root.tensor,),
                explains=history.ended_by(backward),
                certainty=0.6,
            )
        results |= {each.tensor for each in backward.results if each}
