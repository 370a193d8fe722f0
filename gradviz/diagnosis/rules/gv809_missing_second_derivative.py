"""GV809: an op has no second derivative.

What it does
    Explains "the derivative for '…' is not implemented" with the line of the op.
Why is this bad
    The error comes from the second pass and names an internal function; nothing says
    which line used it.
Example
    A gradient penalty through ``torch.cdist``.
Use instead
    The same function written with basic ops:
    ``(x[:, None] - y[None]).pow(2).sum(-1).add(1e-12).sqrt()``.
When it stays quiet
    Only first derivatives are taken.
References
    pytorch/pytorch#83510.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gradviz.dependence.op_families import function_of
from gradviz.diagnosis.custom_functions import refusals
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Backward, History, Node

_ERROR = re.compile(r"derivative for '(\w+)' is not implemented")


@rule("GV809", "missing-second-derivative", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield the passes that this error ended."""
    for event, match in refusals(history, _ERROR):
        op = re.sub(r"(_double)?_backward$", "", match[1].strip("_")).strip("_")
        node, first = _forward(history, event, op)
        if node is None or first is None:
            continue
        yield Hit(
            f"`{history.text(node.site)}` ({node.name}, {history.line(node.site)}) "
            f"has a first derivative, but no second one ({match[1]} is not "
            f"differentiable), and {history.line(event.site)} needs it.",
            culprit=node.site,
            fix="Write this function with basic ops (differences, powers, sums) where "
            "a second derivative is taken, or do not differentiate twice through it.",
            symptom=event.site,
            related=(Related("first derivative", first.site),),
            nodes=(node.key,),
            explains=True,
        )


def _forward(
    history: History, failed: Backward, op: str
) -> tuple[Node | None, Backward | None]:
    """Return the forward node of an op, and the pass that differentiated it first."""
    for event in reversed(history.backwards):
        if event.index > failed.index or not event.create_graph:
            continue
        for key in event.nodes:
            node = history.node(key)
            if node is not None and function_of(node.name) == op:
                return node, event
    return None, None
