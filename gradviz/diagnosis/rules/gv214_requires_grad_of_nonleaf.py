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

import ast
from collections.abc import Iterator

from gradviz.diagnosis.edits.leaves import switched_off
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._lifetime import made_at, name_of, origin
from gradviz.diagnosis.rules._origins import is_result, raised_with, suspect
from gradviz.program import History

_ON = (
    "Leave this line out: it requires grad already, and `torch.autograd.grad` takes it "
    "as it is. For a leaf of its own: `.detach().requires_grad_(True)`."
)


@rule("GV214", "requires-grad-of-nonleaf", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield a hit if the run ended because a result's switch was refused."""
    raised = raised_with(history, "change requires_grad flags of leaf variables")
    if raised is None:
        return
    value = suspect(history, raised, is_result)
    name, made, by = name_of(history, value, "This tensor"), None, ""
    if value is not None:
        made = made_at(history, value)
        by = f" of {origin(history, value)} in {history.line(made)}"
    on = _is_switched_on(history.places.statement(raised.site))
    yield Hit(
        f"`requires_grad` can only be set on a leaf, and {name} is a "
        f"result{by}: it requires grad because it was computed from what does.",
        raised.site,
        _ON
        if on
        else f"Use {name}.detach() in place of it, or compute it under "
        "`torch.no_grad()`.",
        symptom=raised.site,
        related=(Related("made here", made),),
        tensors=() if value is None else (value.tensor,),
        explains=True,
        edit=None if on else switched_off(raised.site),
    )


def _is_switched_on(statement: ast.stmt | None) -> bool:
    """Tell whether a statement is to make something require grad."""
    match statement:
        case ast.Assign(value=ast.Constant(True)):
            return True
        case ast.Expr(ast.Call(args=[])) | ast.Expr(
            ast.Call(args=[ast.Constant(True)])
        ):
            return True
        case _:
            return False
