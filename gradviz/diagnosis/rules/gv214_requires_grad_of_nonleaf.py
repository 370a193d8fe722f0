"""The requires_grad of a result is switched off, which only leaves allow.

What it does
    Finds attempts to switch ``requires_grad`` off on the result of an operation.

Why is this bad
    Whether a result requires grad follows from what it was computed from. Only leaves
    have a switch of their own, so autograd refuses.

Example
    ::

        features = backbone(x)
        features.requires_grad = False

Use instead
    ::

        features = backbone(x).detach()

When it stays quiet
    For leaves, and where True is assigned to what requires grad already.

References
    https://pytorch.org/docs/stable/generated/torch.Tensor.detach.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis.edits.leaves import switched_off
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._lifetime import made_at, name_of, origin
from gradviz.diagnosis.rules._origins import raised_with, suspects
from gradviz.program import History, Value


@rule("GV214", "requires-grad-of-nonleaf", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield a hit if the run ended because a result's switch was refused."""
    raised = raised_with(history, "change requires_grad flags of leaf variables")
    if raised is None:
        return
    value = next((each for each, _ in suspects(history, raised, _is_result)), None)
    name, made = "This tensor", None
    if value is not None:
        name, made = name_of(history, value, name), made_at(history, value)
    by = ""
    if value is not None:
        by = f" of {origin(history, value)} in {history.line(made)}"
    yield Hit(
        f"{name} is the result{by}. It requires grad because what it was computed from "
        "does; only leaves have a switch of their own.",
        raised.site,
        "Cut it off the graph with `.detach()`, compute it under `torch.no_grad()`, or "
        "freeze the parameters behind it before the forward pass.",
        symptom=raised.site,
        related=(Related("made here", made),),
        tensors=() if value is None else (value.tensor,),
        explains=True,
        edit=switched_off(raised.site),
    )


def _is_result(value: Value) -> bool:
    return value.requires_grad and not value.is_leaf
