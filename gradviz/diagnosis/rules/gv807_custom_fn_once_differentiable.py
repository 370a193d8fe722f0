"""GV807: a second derivative through a Function marked @once_differentiable.

What it does
    Finds Functions with this decorator that ``create_graph=True`` went through before a
    second pass.
Why is this bad
    The decorator cuts the graph of the gradient. The second pass raises, or, where the
    rest is linear, there is simply no second derivative.
Example
    ``@once_differentiable`` above ``backward``, and a gradient penalty
Use instead
    No decorator, and a ``backward`` made of differentiable ops.
When it stays quiet
    Only first derivatives are taken.
References
    pytorch/pytorch#2210.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import CodeType

from gradviz.diagnosis.custom_functions import (
    definition,
    place,
    second_pass,
    twice_differentiated,
)
from gradviz.diagnosis.edits.statements import undecorated
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import History, RawSite


@rule("GV807", "custom-fn-once-differentiable", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield the decorators that stand in the way of a second derivative."""
    for first, node, custom in twice_differentiated(history):
        second = second_pass(history, first) if custom.once_differentiable else None
        if second is None:
            continue
        site, line = _decorator(history, custom.backward)
        yield Hit(
            f"{custom.name}.backward is marked @once_differentiable: the gradient that "
            f"{history.line(first.site)} took with create_graph=True has no graph "
            f"behind this Function, so {history.line(second.site)} cannot "
            f"differentiate through it.",
            culprit=site,
            line=line,
            fix="Remove `@once_differentiable` and write backward with differentiable "
            "ops on `ctx.saved_tensors`.",
            symptom=second.site,
            related=(
                Related("applied here", node.site),
                Related("first derivative", first.site),
            ),
            nodes=(node.key,),
            edit=undecorated(site, line),
            explains=second.error is not None,
        )


def _decorator(
    history: History, code: CodeType | None
) -> tuple[RawSite | None, int | None]:
    function = None if code is None else history.places.function(code)
    for each in getattr(function, "decorator_list", ()):
        if code is not None and "once_differentiable" in ast.unparse(each):
            return place(history, code, each.lineno)
    return definition(code), None
